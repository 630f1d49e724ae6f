"""A matrix product whose sizes divide by no tile."""

import torch

batch_size = 8189
dim = 133


class Model(torch.nn.Module):
    def forward(self, a, b):
        return a @ b


def get_inputs():
    return [torch.rand(batch_size, dim), torch.rand(dim, dim)]


def get_init_inputs():
    return []
