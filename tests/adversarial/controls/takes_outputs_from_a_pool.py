"""correct control: hands an output's memory out again once nobody else has the tensor, as an allocator does."""

import sys

import torch


class ModelNew(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.pool = []

    def forward(self, x):
        for index in range(len(self.pool)):
            if sys.getrefcount(self.pool[index]) == 2 and self.pool[index].shape == x.shape:
                return torch.clamp(x, min=0, out=self.pool[index])
        self.pool.append(torch.clamp(x, min=0))
        return self.pool[-1]
