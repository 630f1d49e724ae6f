"""A sum over the middle dimension, which is kept."""

import torch
import torch.nn as nn

batch_size = 16
length = 63
dim = 40


class Model(nn.Module):
    def forward(self, x):
        return torch.sum(x, dim=1, keepdim=True)


def get_inputs():
    return [torch.randn(batch_size, length, dim)]


def get_init_inputs():
    return []
