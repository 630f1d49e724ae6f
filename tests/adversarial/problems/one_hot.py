"""One in each row, at the class that the row is of."""

import torch

rows, classes = 256, 2048


class Model(torch.nn.Module):
    def forward(self, x):
        return torch.nn.functional.one_hot(x, classes).float()


def get_inputs():
    return [torch.randint(0, classes, (rows,))]


def get_init_inputs():
    return []
