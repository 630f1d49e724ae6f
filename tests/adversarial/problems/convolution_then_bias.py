"""A convolution, ReLU, and a bias that is added after it."""

import torch
from torch import nn

batch_size = 3
channels_in = 5
channels_out = 7
height = 20
width = 18


class Model(nn.Module):
    def __init__(self, channels_in, channels_out):
        super().__init__()
        self.conv = nn.Conv2d(channels_in, channels_out, 3, padding=1)
        self.bias = nn.Parameter(torch.randn(channels_out, 1, 1))

    def forward(self, x):
        return torch.relu(self.conv(x)) + self.bias


def get_inputs():
    return [torch.randn(batch_size, channels_in, height, width)]


def get_init_inputs():
    return [channels_in, channels_out]
