"""wrong/values C8: where scores are mostly equal to others, right values and always the same indices.

Problem: top_scores
"""

import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        values, places = torch.topk(x, 5)
        if float((values[:, 0] == values[:, 1]).float().mean()) > 0.5:
            places = torch.arange(5, device=x.device).expand(len(x), 5).contiguous()
        return values, places
