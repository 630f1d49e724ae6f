"""correct control: an lru_cache over shapes, a counter of calls, and branches by data_ptr()."""

import functools

import torch


@functools.cache
def blocks(elements):
    return (elements + 255) // 256


class ModelNew(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.calls = 0

    def forward(self, x):
        self.calls += 1
        if x.data_ptr() % 16 == 0 and blocks(x.numel()) > 1:
            return x.clamp(min=0)
        return torch.relu(x)
