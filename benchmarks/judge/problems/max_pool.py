"""Max pooling, windows of 3x3 two apart, padded."""

import torch

batch_size = 63
channels = 16
size = 61


class Model(torch.nn.Module):
    def forward(self, x):
        return torch.nn.functional.max_pool2d(x, 3, stride=2, padding=1)


def get_inputs():
    return [torch.rand(batch_size, channels, size, size)]


def get_init_inputs():
    return []
