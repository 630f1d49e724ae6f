"""The mean over the middle dimension."""

import torch

batch_size = 128
dim = 301


class Model(torch.nn.Module):
    def forward(self, x):
        return x.mean(dim=1)


def get_inputs():
    return [torch.rand(batch_size, dim, dim)]


def get_init_inputs():
    return []
