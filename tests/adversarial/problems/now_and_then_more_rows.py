"""A sum of rows, of one row fewer in one call of twenty: what trials see may all be of one shape."""

import torch


class Model(torch.nn.Module):
    def forward(self, x):
        return x[int((x[0, 0] * 1e4) % 1 < 0.05) :].cumsum(1)


def get_inputs():
    return [torch.rand(64, 256)]


def get_init_inputs():
    return []
