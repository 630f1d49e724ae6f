"""correct: tl.sort of short rows."""

import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def sort_kernel(x_ptr, y_ptr, N: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, N)
    x = tl.load(x_ptr + row * N + cols)
    tl.store(y_ptr + row * N + cols, tl.sort(x))


class Model(nn.Module):
    def forward(self, x):
        return torch.sort(x, dim=1).values


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        sort_kernel[(x.shape[0],)](x, y, N=x.shape[1])
        return y


def get_inputs():
    return [torch.randn(20, 32)]


def get_init_inputs():
    return []
