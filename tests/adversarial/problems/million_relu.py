"""ReLU of a million values: long enough for a CPU that what is left undone when the clock stops tells."""

import torch

n = 1 << 20


class Model(torch.nn.Module):
    def forward(self, x):
        return torch.relu(x)


def get_inputs():
    return [torch.randn(n)]


def get_init_inputs():
    return []
