"""correct control: hands out a part of a table of its own, as the reference does.

Problem: kept_table
"""

import torch


class ModelNew(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.table = torch.arange(64 * 32.0).view(64, 32)

    def forward(self, x, at):
        return x + x, self.table[at : at + 16]
