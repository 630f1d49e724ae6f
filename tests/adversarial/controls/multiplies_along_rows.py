"""correct control: the products of a row's numbers, of which most vanish.

Problem: cumprod
"""

import torch


class ModelNew(torch.nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.dim = dim

    def forward(self, x):
        return torch.cumprod(x, self.dim)
