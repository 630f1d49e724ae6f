"""Layer normalisation of the last dimension."""

import torch
import torch.nn as nn
import torch.nn.functional as F

batch_size = 6
length = 11
dim = 200


class Model(nn.Module):
    def __init__(self, dim, eps=1e-5):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(dim))
        self.bias = nn.Parameter(torch.randn(dim))
        self.eps = eps

    def forward(self, x):
        return F.layer_norm(x, x.shape[-1:], self.weight, self.bias, self.eps)


def get_inputs():
    return [torch.randn(batch_size, length, dim)]


def get_init_inputs():
    return [dim]
