"""correct control: draws the same numbers from the same Gaussians.

Problem: reparameterised
"""

import torch


class ModelNew(torch.nn.Module):
    def __init__(self, width):
        super().__init__()
        self.mean = torch.nn.Linear(width, width)
        self.deviation = torch.nn.Linear(width, width)

    def forward(self, x):
        drawn = torch.randn_like(x)
        return torch.addcmul(self.mean(x), drawn, (self.deviation(x) / 2).exp_())
