"""A square product of positive numbers of more than a gigabyte, which are timed on one kind of contents only."""

import torch

n = 12288


class Model(torch.nn.Module):
    def forward(self, a, b):
        return a @ b


def get_inputs():
    return [torch.rand(n, n), torch.rand(n, n)]


def get_init_inputs():
    return []
