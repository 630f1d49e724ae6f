"""Two tensors one behind the other: nothing is computed, and all of it is moved."""

import torch

n = 1 << 25


class Model(torch.nn.Module):
    def forward(self, a, b):
        return torch.cat([a, b])


def get_inputs():
    return [torch.rand(n), torch.rand(n)]


def get_init_inputs():
    return []
