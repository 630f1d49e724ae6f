"""correct control (gpu): the mean of every row, written to each of its elements.

Problem: row_means
"""

import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return torch.mean(x, dim=1, keepdim=True).expand_as(x).contiguous()
