"""ReLU of a quarter of a gigabyte: bound by memory."""

import torch

n = 1 << 26


class Model(torch.nn.Module):
    def forward(self, x):
        return torch.relu(x)


def get_inputs():
    return [torch.rand(n)]


def get_init_inputs():
    return []
