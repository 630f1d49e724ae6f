"""correct control (gpu): PyTorch's own concatenation, and the honest twin of cheats about copies.

Problem: wide_cat
"""

import torch


class ModelNew(torch.nn.Module):
    def forward(self, a, b):
        return torch.cat([a, b])
