"""Average pooling whose padding counts."""

import torch
import torch.nn as nn
import torch.nn.functional as F

batch_size = 4
channels = 7
length = 61


class Model(nn.Module):
    def forward(self, x):
        return F.avg_pool1d(x, kernel_size=4, stride=2, padding=1)


def get_inputs():
    return [torch.randn(batch_size, channels, length)]


def get_init_inputs():
    return []
