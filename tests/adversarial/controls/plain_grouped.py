"""correct control (gpu): sorts the groups each time, though they never change.

Problem: grouped
"""

import torch


class ModelNew(torch.nn.Module):
    def forward(self, x, group):
        return x.index_select(0, torch.argsort(group, stable=True))
