"""correct control (gpu): PyTorch's own large product of roots, in float32.

Problem: large_roots
"""

import torch


class ModelNew(torch.nn.Module):
    def forward(self, a, b):
        return torch.mm(torch.sqrt(a), torch.sqrt(b))
