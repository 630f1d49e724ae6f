"""A layer with weights, and ReLU."""

import torch

batch_size = 64
features = 256


class Model(torch.nn.Module):
    def __init__(self, features):
        super().__init__()
        self.layer = torch.nn.Linear(features, features)

    def forward(self, x):
        return torch.relu(self.layer(x))


def get_inputs():
    return [torch.rand(batch_size, features)]


def get_init_inputs():
    return [features]
