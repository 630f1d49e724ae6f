"""Which elements are positive and below another input."""

import torch
import torch.nn as nn

batch_size = 37
dim = 83


class Model(nn.Module):
    def forward(self, x, y):
        return (x > 0) & (x < y)


def get_inputs():
    return [torch.randn(batch_size, dim), torch.randn(batch_size, dim)]


def get_init_inputs():
    return []
