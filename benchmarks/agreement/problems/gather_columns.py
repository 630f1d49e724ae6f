"""Elements of each row, by index."""

import torch
import torch.nn as nn

batch_size = 20
dim = 64
picked = 31


class Model(nn.Module):
    def forward(self, x, index):
        return torch.gather(x, 1, index)


def get_inputs():
    return [torch.randn(batch_size, dim), torch.randint(0, dim, (batch_size, picked))]


def get_init_inputs():
    return []
