"""A matrix times a vector in a column."""

import torch
import torch.nn as nn

M = 130
K = 501


class Model(nn.Module):
    def forward(self, a, v):
        return torch.matmul(a, v)


def get_inputs():
    return [torch.randn(M, K), torch.randn(K, 1)]


def get_init_inputs():
    return []
