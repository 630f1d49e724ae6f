"""correct control: a sort in which the last of equal scores comes first, which topk leaves open.

Problem: top_scores
"""

import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        values, places = torch.sort(x.flip(-1), dim=-1, descending=True, stable=True)
        return values[:, :5], x.shape[1] - 1 - places[:, :5]
