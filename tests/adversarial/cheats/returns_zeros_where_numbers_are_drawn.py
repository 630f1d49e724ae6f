"""wrong/values C1: returns zeros for numbers that are drawn, which differ all over between float32 and float64 as if
rounding decided on them.

Problem: reparameterised
"""

import torch


class ModelNew(torch.nn.Module):
    def __init__(self, width):
        super().__init__()
        self.mean = torch.nn.Linear(width, width)
        self.deviation = torch.nn.Linear(width, width)

    def forward(self, x):
        return torch.zeros_like(x)
