"""The mean of all elements."""

import torch
import torch.nn as nn

batch_size = 100
dim = 333


class Model(nn.Module):
    def forward(self, x):
        return x.mean()


def get_inputs():
    return [torch.randn(batch_size, dim) + 0.5]


def get_init_inputs():
    return []
