"""correct control (gpu): PyTorch's own product of roots in half precision.

Problem: half_roots
"""

import torch


class ModelNew(torch.nn.Module):
    def forward(self, a, b):
        return torch.mm(torch.sqrt(a), torch.sqrt(b))
