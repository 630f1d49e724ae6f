"""A ratio of two learnt functions: a few quotients by nearly 0 are 10^5 times as large as the rest."""

import torch


class Model(torch.nn.Module):
    def __init__(self, features, hidden, outputs):
        super().__init__()
        self.first = torch.nn.Linear(features, hidden)
        self.second = torch.nn.Linear(hidden, outputs)
        self.below = torch.nn.Linear(features, outputs, bias=False)

    def forward(self, x):
        return self.second(torch.relu(self.first(x))) / self.below(x)


rows, features, hidden, outputs = 256, 64, 512, 512


def get_inputs():
    return [torch.randn(rows, features)]


def get_init_inputs():
    return [features, hidden, outputs]
