"""The five largest scores of each row, and which these are."""

import torch


class Model(torch.nn.Module):
    def forward(self, x):
        return torch.topk(x, 5)


def get_inputs():
    return [torch.rand(512, 96)]


def get_init_inputs():
    return []
