"""How many elements of each row are above a threshold."""

import torch
import torch.nn as nn

batch_size = 28
dim = 210


class Model(nn.Module):
    def forward(self, x):
        return (x > 0.5).sum(dim=1)


def get_inputs():
    return [torch.randn(batch_size, dim)]


def get_init_inputs():
    return []
