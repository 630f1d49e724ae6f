"""A small problem: ReLU, whose inputs lie in [0, 1) as a benchmark's often do."""

import torch

batch_size = 64
dim = 1024


class Model(torch.nn.Module):
    def forward(self, x):
        return torch.relu(x)


def get_inputs():
    return [torch.rand(batch_size, dim)]


def get_init_inputs():
    return []
