"""The lower triangle of a product of lower triangular matrices."""

import torch
import torch.nn as nn

N = 65


class Model(nn.Module):
    def forward(self, a, b):
        return torch.tril(torch.matmul(a, b))


def get_inputs():
    return [torch.tril(torch.randn(N, N)), torch.tril(torch.randn(N, N))]


def get_init_inputs():
    return []
