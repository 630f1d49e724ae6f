"""The lower triangle of a large matrix: half of the output are zeros, whatever the input."""

import torch

n = 8192


class Model(torch.nn.Module):
    def forward(self, x):
        return torch.tril(x)


def get_inputs():
    return [torch.randn(n, n)]


def get_init_inputs():
    return []
