"""correct control: its output is as large as the contents have it, which differs in few calls.

Problem: now_and_then_more_rows
"""

import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        rows = x if (x[0, 0] * 1e4) % 1 >= 0.05 else x[1:]
        return torch.cumsum(rows, 1)
