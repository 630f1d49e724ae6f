"""Scales and shifts columns by weights."""

import torch

rows, width = 64, 256


class Model(torch.nn.Module):
    def __init__(self, width):
        super().__init__()
        self.scale = torch.nn.Parameter(torch.rand(width))
        self.shift = torch.nn.Parameter(torch.rand(width))

    def forward(self, x):
        return x * self.scale - self.shift


def get_inputs():
    return [torch.rand(rows, width)]


def get_init_inputs():
    return [width]
