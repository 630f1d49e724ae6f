"""GELU as eight elementwise operations: much to fuse, and large enough on a GPU to be timed well."""

import torch

n = 65536


class Model(torch.nn.Module):
    def forward(self, x):
        return 0.5 * x * (1.0 + torch.tanh(0.7978845608028654 * (x + 0.044715 * x * x * x)))


def get_inputs():
    return [torch.randn(n)]


def get_init_inputs():
    return []
