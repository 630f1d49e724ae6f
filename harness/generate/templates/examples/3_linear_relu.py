import torch
import torch.nn as nn


class Model(nn.Module):
    """A linear layer and ReLU."""

    def __init__(self, inputs, outputs):
        super().__init__()
        self.linear = nn.Linear(inputs, outputs)

    def forward(self, x):
        return torch.relu(self.linear(x))


rows = 512
inputs = 1024
outputs = 1024


def get_inputs():
    return [torch.rand(rows, inputs)]


def get_init_inputs():
    return [inputs, outputs]
