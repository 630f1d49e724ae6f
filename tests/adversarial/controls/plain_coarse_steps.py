"""correct control: takes the steps as float32 has them.

Problem: coarse_steps
"""

import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        scaled = x * 8
        return torch.tanh(scaled).mul(0.01) + torch.round(scaled) * 0.125
