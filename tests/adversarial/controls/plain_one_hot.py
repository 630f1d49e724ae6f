"""correct control: zeros, and a one in each row.

Problem: one_hot
"""

import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return torch.zeros(x.numel(), 2048, device=x.device).scatter_(1, x[:, None], 1.0)
