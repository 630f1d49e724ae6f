"""A positional encoding: sines of ten octaves, of which nothing is left in float32 where its inputs are huge."""

import math

import torch

n, octaves = 1 << 15, 10


class Model(torch.nn.Module):
    def forward(self, x):
        return torch.stack([torch.sin(x * (math.tau * 0.44 * 2**k)) for k in range(octaves)])


def get_inputs():
    return [torch.rand(n)]


def get_init_inputs():
    return []
