"""correct control (gpu): PyTorch's own product of more than a gigabyte in float32.

Problem: tall_matmul
"""

import torch


class ModelNew(torch.nn.Module):
    def forward(self, a, b):
        return torch.mm(a, b)
