"""So many small layers for one row that two calls are a whole round."""

import torch

width, depth = 128, 256


class Model(torch.nn.Module):
    def __init__(self, width, depth):
        super().__init__()
        self.layers = torch.nn.ModuleList(torch.nn.Linear(width, width) for _ in range(depth))

    def forward(self, x):
        for layer in self.layers:
            x = torch.relu(layer(x))
        return x


def get_inputs():
    return [torch.randn(1, width)]


def get_init_inputs():
    return [width, depth]
