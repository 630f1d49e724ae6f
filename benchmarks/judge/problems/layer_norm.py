"""Layer normalisation over the last of three dimensions, with weights that are not ones and zeros."""

import torch

batch_size = 128
dim = 301


class Model(torch.nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.randn(dim))
        self.bias = torch.nn.Parameter(torch.randn(dim))

    def forward(self, x):
        return torch.nn.functional.layer_norm(x, x.shape[-1:], self.weight, self.bias)


def get_inputs():
    return [torch.rand(batch_size, dim, dim)]


def get_init_inputs():
    return [dim]
