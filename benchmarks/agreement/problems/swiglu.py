"""SiLU of the first half of the columns, times the second half."""

import torch
import torch.nn as nn
import torch.nn.functional as F

batch_size = 64
hidden = 150


class Model(nn.Module):
    def forward(self, x):
        gate, value = x.chunk(2, dim=-1)
        return F.silu(gate) * value


def get_inputs():
    return [torch.randn(batch_size, 2 * hidden)]


def get_init_inputs():
    return []
