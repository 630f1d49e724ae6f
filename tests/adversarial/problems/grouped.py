"""Rows put together by group: which group each row belongs to is the same at every draw, the rows are not."""

import torch

rows, width, groups = 1 << 20, 16, 4096


class Model(torch.nn.Module):
    def forward(self, x, group):
        return x[torch.argsort(group, stable=True)]


def get_inputs():
    return [torch.randn(rows, width), torch.arange(rows) * 7919 % groups]


def get_init_inputs():
    return []
