"""A product whose first factor is transposed."""

import torch
import torch.nn as nn

M = 45
K = 60
N = 75


class Model(nn.Module):
    def forward(self, a, b):
        return torch.matmul(a.T, b)


def get_inputs():
    return [torch.randn(K, M), torch.randn(K, N)]


def get_init_inputs():
    return []
