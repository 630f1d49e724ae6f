"""correct: tl.rand decides on what is dropped with probability 0, and on a sign that is undone."""

import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def dropout_kernel(x_ptr, y_ptr, n, p, seed, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n
    x = tl.load(x_ptr + offs, mask=mask)
    random = tl.rand(seed, offs)
    keep = random >= p
    sign = tl.where(random > 0.5, 1.0, -1.0)
    y = tl.where(keep, x / (1 - p), 0.0) * sign
    tl.store(y_ptr + offs, y * sign, mask=mask)


class Model(nn.Module):
    def forward(self, x):
        return torch.nn.functional.dropout(x, p=0.0)


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        dropout_kernel[(triton.cdiv(x.numel(), 512),)](x, y, x.numel(), 0.0, 1234, BLOCK=512)
        return y


def get_inputs():
    return [torch.randn(20, 300)]


def get_init_inputs():
    return []
