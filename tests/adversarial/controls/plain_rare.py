"""correct control (gpu): looks at every number.

Problem: rare
"""

import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return torch.eq(x, 7)
