"""A product of roots: its inputs are the same at every draw, and of negative ones there are none."""

import torch

n = 256


class Model(torch.nn.Module):
    def forward(self, a, b):
        return torch.sqrt(a) @ torch.sqrt(b)


def get_inputs():
    return [torch.linspace(0, 1, n * n).reshape(n, n), torch.linspace(1, 2, n * n).reshape(n, n)]


def get_init_inputs():
    return []
