"""correct control: adds the halves of each sum by themselves, so that rounding decides otherwise now and then.

Problem: fine_steps
"""

import torch


class ModelNew(torch.nn.Module):
    def __init__(self, width, wide):
        super().__init__()
        self.w = torch.nn.Parameter(torch.randn(width, wide) / width**0.5)

    def forward(self, x):
        half = x.shape[1] // 2
        sums = x[:, half:] @ self.w[half:] + x[:, :half] @ self.w[:half]
        return torch.relu(sums).mul_(1024).round_().div_(1024)
