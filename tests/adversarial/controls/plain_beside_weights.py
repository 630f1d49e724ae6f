"""correct control (gpu): puts the input and the weights side by side by PyTorch, the honest twin of cheats that have
the weights there before.

Problem: beside_weights
"""

import torch

n = 4096


class ModelNew(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.table = torch.nn.Parameter(torch.randn(n, n))

    def forward(self, x):
        out = torch.empty(2 * n, n, device=x.device)
        out[:n].copy_(x)
        out[n:].copy_(self.table)
        return out
