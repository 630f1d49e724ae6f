"""wrong/values C8: all experts that are as good as the second one get its share, so that nothing need be chosen.

Problem: two_experts
"""

import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        shares = torch.softmax(x, -1)
        values = torch.topk(shares, 2)[0]
        return torch.where(shares >= values[:, 1:], shares / values.sum(-1, keepdim=True), 0.0)
