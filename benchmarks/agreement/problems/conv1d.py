"""A convolution in one dimension with a stride and a dilation."""

import torch
import torch.nn as nn

batch_size = 4
in_channels = 6
out_channels = 8
length = 50


class Model(nn.Module):
    def __init__(self, in_channels, out_channels):
        super().__init__()
        self.conv = nn.Conv1d(in_channels, out_channels, 5, stride=2, dilation=3, bias=False)

    def forward(self, x):
        return self.conv(x)


def get_inputs():
    return [torch.randn(batch_size, in_channels, length)]


def get_init_inputs():
    return [in_channels, out_channels]
