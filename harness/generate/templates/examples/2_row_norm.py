import torch
import torch.nn as nn


class Model(nn.Module):
    """Divides each row by its Euclidean length."""

    def __init__(self, eps):
        super().__init__()
        self.eps = eps

    def forward(self, x):
        return x / (x.pow(2).sum(dim=1, keepdim=True).sqrt() + self.eps)


rows = 4096
columns = 8192


def get_inputs():
    return [torch.rand(rows, columns)]


def get_init_inputs():
    return [1e-6]
