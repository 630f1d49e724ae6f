"""A linear layer and leaky ReLU; the layer is square."""

import torch

batch_size = 8189
dim = 133


class Model(torch.nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.linear = torch.nn.Linear(dim, dim)

    def forward(self, x):
        return torch.nn.functional.leaky_relu(self.linear(x), 0.01)


def get_inputs():
    return [torch.rand(batch_size, dim)]


def get_init_inputs():
    return [dim]
