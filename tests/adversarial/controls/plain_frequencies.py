"""correct control: one product and one sine for all octaves, and the honest twin of cheats about them.

Problem: frequencies
"""

import math

import torch


class ModelNew(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = torch.tensor([math.tau * 0.44 * 2**k for k in range(10)])[:, None]

    def forward(self, x):
        if self.scale.device != x.device:
            self.scale = self.scale.to(x.device)
        return torch.sin(x * self.scale)
