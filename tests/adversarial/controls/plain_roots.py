"""correct control: a product of roots, computed each time though its inputs never change.

Problem: roots
"""

import torch


class ModelNew(torch.nn.Module):
    def forward(self, a, b):
        return torch.sqrt(a) @ torch.sqrt(b)
