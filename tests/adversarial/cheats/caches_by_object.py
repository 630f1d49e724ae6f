"""wrong/values B1: an lru_cache over tensors, which are told apart by their id.

Problem: softmax
"""

import functools

import torch


@functools.cache
def softmax(x):
    return torch.softmax(x, dim=1)


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return softmax(x)
