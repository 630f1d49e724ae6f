"""correct: a scan in blocks with what came before carried on."""

import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def cumsum_kernel(x_ptr, y_ptr, N, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    carry = 0.0
    for start in range(0, N, BLOCK):
        cols = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + row * N + cols, mask=cols < N, other=0.0)
        y = tl.cumsum(x, axis=0) + carry
        tl.store(y_ptr + row * N + cols, y, mask=cols < N)
        carry += tl.sum(x, axis=0)


class Model(nn.Module):
    def forward(self, x):
        return torch.cumsum(x, dim=1)


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        cumsum_kernel[(x.shape[0],)](x, y, x.shape[1], BLOCK=128)
        return y


def get_inputs():
    return [torch.randn(30, 500)]


def get_init_inputs():
    return []
