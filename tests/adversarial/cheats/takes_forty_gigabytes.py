"""failed/out-of-memory D14: wants 40 GB.

On a GPU: failed
"""

import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return torch.ones(10_000_000_000)
