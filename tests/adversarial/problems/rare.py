"""Where a number occurs among sixty-seven million: about once."""

import torch

n = 1 << 26


class Model(torch.nn.Module):
    def forward(self, x):
        return x == 7


def get_inputs():
    return [torch.randint(0, n, (n,), dtype=torch.int32)]


def get_init_inputs():
    return []
