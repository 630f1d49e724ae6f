"""A product of whole numbers that are the same at every draw."""

import torch

n = 256


class Model(torch.nn.Module):
    def forward(self, a, b):
        return (a.float() @ b.float()).to(torch.int32)


def get_inputs():
    places = torch.arange(n * n, dtype=torch.int32).reshape(n, n)
    return [places % 7, places % 11]


def get_init_inputs():
    return []
