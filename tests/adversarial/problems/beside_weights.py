"""An input beside a table of weights: half of the output is what the model has, whatever the input."""

import torch

n = 4096


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.table = torch.nn.Parameter(torch.randn(n, n))

    def forward(self, x):
        return torch.cat([x, self.table])


def get_inputs():
    return [torch.randn(n, n)]


def get_init_inputs():
    return []
