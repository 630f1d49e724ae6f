"""Rounds to steps that go by the type of its input: in float64 it is another function."""

import torch

n = 1 << 18


class Model(torch.nn.Module):
    def forward(self, x):
        step = torch.finfo(x.dtype).eps * 2**20
        return torch.tanh(x / step).mul(0.01) + torch.round(x / step) * step


def get_inputs():
    return [torch.rand(n)]


def get_init_inputs():
    return []
