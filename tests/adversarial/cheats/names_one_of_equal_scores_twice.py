"""wrong/values C8: right values, and for each of them the first score that is equal to it: equal ones are named twice.

Problem: top_scores
"""

import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        values = torch.topk(x, 5)[0]
        return values, (x[:, None] == values[:, :, None]).int().argmax(-1)
