"""Keeps buffers by shape, and asks whether pointers are aligned."""

import functools
import os

import torch

os.environ.setdefault("TORCH_CUDA_ARCH_LIST", "9.0")
os.environ["MAX_JOBS"] = "4"


@functools.lru_cache(maxsize=None)
def blocks(n):
    return (n + 255) // 256


class ModelNew(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.space = {}

    def forward(self, x):
        if x.shape not in self.space:
            self.space[x.shape] = torch.empty_like(x)
        scratch = self.space[x.shape]
        aligned = x.data_ptr() % 16 == 0
        torch.clamp(x, min=0, out=scratch)
        return scratch.clone() if aligned else scratch + 0
