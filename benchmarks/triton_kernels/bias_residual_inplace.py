"""correct: works in place on a clone of its input."""

import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def bias_kernel(y_ptr, bias_ptr, n, C, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n
    y = tl.load(y_ptr + offs, mask=mask)
    y += tl.load(bias_ptr + offs % C, mask=mask)
    tl.store(y_ptr + offs, y * 2.0, mask=mask)


class Model(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.bias = nn.Parameter(torch.randn(dim))

    def forward(self, x):
        return (x + self.bias) * 2


class ModelNew(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.bias = nn.Parameter(torch.randn(dim))

    def forward(self, x):
        y = x.clone()
        bias_kernel[(triton.cdiv(y.numel(), 256),)](y, self.bias, y.numel(), y.shape[-1], BLOCK=256)
        return y


def get_inputs():
    return [torch.randn(33, 100)]


def get_init_inputs():
    return [100]
