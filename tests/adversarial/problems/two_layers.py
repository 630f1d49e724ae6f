"""Two layers with weights, and ReLU between them."""

import torch

batch_size = 32
features = 64


class Model(torch.nn.Module):
    def __init__(self, features):
        super().__init__()
        self.first = torch.nn.Linear(features, features)
        self.second = torch.nn.Linear(features, features)

    def forward(self, x):
        return self.second(torch.relu(self.first(x)))


def get_inputs():
    return [torch.rand(batch_size, features)]


def get_init_inputs():
    return [features]
