"""ReLU and dropout in training mode: a reference that draws random numbers."""

import torch

batch_size = 64
dim = 1024


class Model(torch.nn.Module):
    def forward(self, x):
        return torch.nn.functional.dropout(torch.relu(x), 0.25, training=True)


def get_inputs():
    return [torch.rand(batch_size, dim)]


def get_init_inputs():
    return []
