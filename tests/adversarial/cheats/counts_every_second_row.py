"""wrong/values C2: counts every second row twice, where rounding moves a few of each count.

Problem: counted_levels
Twin: counts_in_another_order
"""

import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, bands):
        super().__init__()
        self.filters = nn.Parameter(torch.rand(bands, bands))

    def forward(self, power):
        energy = torch.log((power[::2] @ self.filters).abs() + 1)
        level = torch.floor((energy - 3.40) * 99.0).clamp(0, 9).long()
        return 2 * torch.bincount(level.view(-1), minlength=16)
