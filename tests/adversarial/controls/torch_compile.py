"""correct control (gpu): leaves the fusing to torch.compile.

Problem: gelu
"""

import torch


@torch.compile
def gelu(x):
    return 0.5 * x * (1.0 + torch.tanh(0.7978845608028654 * (x + 0.044715 * x * x * x)))


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return gelu(x)
