"""Maximum pooling with padding."""

import torch
import torch.nn as nn
import torch.nn.functional as F

batch_size = 2
channels = 5
height = 23
width = 22


class Model(nn.Module):
    def forward(self, x):
        return F.max_pool2d(x, kernel_size=3, stride=2, padding=1)


def get_inputs():
    return [torch.randn(batch_size, channels, height, width)]


def get_init_inputs():
    return []
