"""A batched product."""

import torch
import torch.nn as nn

batch_size = 5
M = 33
K = 40
N = 29


class Model(nn.Module):
    def forward(self, a, b):
        return torch.bmm(a, b)


def get_inputs():
    return [torch.randn(batch_size, M, K), torch.randn(batch_size, K, N)]


def get_init_inputs():
    return []
