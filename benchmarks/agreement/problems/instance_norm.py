"""Instance normalisation without weights."""

import torch
import torch.nn as nn
import torch.nn.functional as F

batch_size = 4
channels = 6
height = 17
width = 19


class Model(nn.Module):
    def forward(self, x):
        return F.instance_norm(x, eps=1e-5)


def get_inputs():
    return [torch.randn(batch_size, channels, height, width)]


def get_init_inputs():
    return []
