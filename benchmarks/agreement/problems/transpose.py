"""A transposed matrix, laid out anew."""

import torch
import torch.nn as nn

rows = 75
columns = 130


class Model(nn.Module):
    def forward(self, x):
        return x.t().contiguous()


def get_inputs():
    return [torch.randn(rows, columns)]


def get_init_inputs():
    return []
