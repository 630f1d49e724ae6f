"""The maximum over the last dimension."""

import torch
import torch.nn as nn

batch_size = 8
length = 20
dim = 50


class Model(nn.Module):
    def forward(self, x):
        return torch.max(x, dim=2)[0]


def get_inputs():
    return [torch.randn(batch_size, length, dim)]


def get_init_inputs():
    return []
