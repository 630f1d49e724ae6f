"""A bias and ReLU of a matrix that comes transposed."""

import torch
import torch.nn as nn

rows = 45
columns = 61


class Model(nn.Module):
    def forward(self, x, bias):
        return torch.relu(x + bias)


def get_inputs():
    return [torch.randn(columns, rows).t(), torch.randn(columns)]


def get_init_inputs():
    return []
