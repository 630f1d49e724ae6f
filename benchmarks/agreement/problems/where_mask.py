"""One of two inputs, by a mask."""

import torch
import torch.nn as nn

batch_size = 31
dim = 129


class Model(nn.Module):
    def forward(self, mask, x, y):
        return torch.where(mask, x, 2 * y)


def get_inputs():
    return [torch.randint(0, 2, (batch_size, dim)).bool(), torch.randn(batch_size, dim), torch.randn(batch_size, dim)]


def get_init_inputs():
    return []
