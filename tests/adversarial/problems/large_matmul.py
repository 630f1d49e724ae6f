"""A square product of positive numbers, large enough for its arithmetic to count."""

import torch

n = 2048


class Model(torch.nn.Module):
    def forward(self, a, b):
        return a @ b


def get_inputs():
    return [torch.rand(n, n), torch.rand(n, n)]


def get_init_inputs():
    return []
