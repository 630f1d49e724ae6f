"""A product of roots, large enough for its arithmetic to count: of negative inputs there are none."""

import torch

n = 2048


class Model(torch.nn.Module):
    def forward(self, a, b):
        return torch.sqrt(a) @ torch.sqrt(b)


def get_inputs():
    return [torch.rand(n, n), torch.rand(n, n)]


def get_init_inputs():
    return []
