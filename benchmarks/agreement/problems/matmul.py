"""A product of two matrices whose sizes are no multiples of a tile."""

import torch
import torch.nn as nn

M = 70
K = 50
N = 90


class Model(nn.Module):
    def forward(self, a, b):
        return torch.matmul(a, b)


def get_inputs():
    return [torch.randn(M, K), torch.randn(K, N)]


def get_init_inputs():
    return []
