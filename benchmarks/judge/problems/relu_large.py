"""ReLU of 256 MiB: what counts is bandwidth."""

import torch

batch_size = 8192
dim = 8192


class Model(torch.nn.Module):
    def forward(self, x):
        return torch.relu(x)


def get_inputs():
    return [torch.rand(batch_size, dim)]


def get_init_inputs():
    return []
