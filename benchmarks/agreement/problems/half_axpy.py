"""A sum in half precision."""

import torch
import torch.nn as nn

batch_size = 21
dim = 201


class Model(nn.Module):
    def forward(self, x, y):
        return x.half() * 2.5 + y.half()


def get_inputs():
    return [torch.randn(batch_size, dim), torch.randn(batch_size, dim)]


def get_init_inputs():
    return []
