"""Mish of one input, added to another."""

import torch
import torch.nn as nn
import torch.nn.functional as F

batch_size = 24
dim = 515


class Model(nn.Module):
    def forward(self, x, y):
        return F.mish(x) + y


def get_inputs():
    return [torch.randn(batch_size, dim), torch.randn(batch_size, dim)]


def get_init_inputs():
    return []
