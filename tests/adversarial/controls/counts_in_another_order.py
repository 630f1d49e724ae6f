"""correct control: adds the halves of each sum by themselves before it counts, so that a few counts differ.

Problem: counted_levels
"""

import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, bands):
        super().__init__()
        self.filters = nn.Parameter(torch.rand(bands, bands))

    def forward(self, power):
        half = power.shape[1] // 2
        sums = power[:, half:] @ self.filters[half:] + power[:, :half] @ self.filters[:half]
        level = torch.floor((torch.log(sums.abs() + 1) - 3.40) * 99.0).clamp(0, 9).long()
        return torch.bincount(level.view(-1), minlength=16)
