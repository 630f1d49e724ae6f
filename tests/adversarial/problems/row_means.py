"""The mean of every row, in the place of each of its elements."""

import torch

rows, columns = 1 << 14, 1 << 12


class Model(torch.nn.Module):
    def forward(self, x):
        return x.mean(dim=1, keepdim=True).repeat(1, columns)


def get_inputs():
    return [torch.rand(rows, columns)]


def get_init_inputs():
    return []
