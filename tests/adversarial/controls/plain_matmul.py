"""correct control: PyTorch's own product, and the honest twin of cheats about it.

Problem: matmul
"""

import torch


class ModelNew(torch.nn.Module):
    def forward(self, a, b):
        return torch.mm(a, b)
