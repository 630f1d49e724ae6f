"""Group normalisation with a scale and a shift for each channel."""

import torch
import torch.nn as nn
import torch.nn.functional as F

batch_size = 4
channels = 12
groups = 3
height = 10
width = 7


class Model(nn.Module):
    def __init__(self, channels, groups):
        super().__init__()
        self.groups = groups
        self.weight = nn.Parameter(torch.randn(channels))
        self.bias = nn.Parameter(torch.randn(channels))

    def forward(self, x):
        return F.group_norm(x, self.groups, self.weight, self.bias)


def get_inputs():
    return [torch.randn(batch_size, channels, height, width)]


def get_init_inputs():
    return [channels, groups]
