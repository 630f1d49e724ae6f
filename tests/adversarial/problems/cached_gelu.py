"""GELU as eight operations over 16 MB, whose numbers between them stay in the L2 cache of a large GPU."""

import torch

n = 1 << 22


class Model(torch.nn.Module):
    def forward(self, x):
        return 0.5 * x * (1.0 + torch.tanh(0.7978845608028654 * (x + 0.044715 * x * x * x)))


def get_inputs():
    return [torch.randn(n)]


def get_init_inputs():
    return []
