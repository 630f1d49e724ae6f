"""correct control: its output is as large as the contents have it, as the reference's is.

Problem: positive_places
"""

import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return torch.stack(torch.where(x > 0), 1)
