"""Softmax over the last of three dimensions; the two last are equal."""

import torch

batch_size = 128
dim = 301


class Model(torch.nn.Module):
    def forward(self, x):
        return torch.softmax(x, dim=2)


def get_inputs():
    return [torch.rand(batch_size, dim, dim)]


def get_init_inputs():
    return []
