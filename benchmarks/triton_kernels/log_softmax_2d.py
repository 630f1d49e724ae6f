"""correct: several rows a program, a mask of two dimensions."""

import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def log_softmax_kernel(x_ptr, y_ptr, M, N, stride, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr):
    rows = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    cols = tl.arange(0, BLOCK_N)
    mask = (rows[:, None] < M) & (cols[None, :] < N)
    at = rows[:, None] * stride + cols[None, :]
    x = tl.load(x_ptr + at, mask=mask, other=-1e30)
    x = x - tl.max(x, axis=1)[:, None]
    lse = tl.log(tl.sum(tl.exp(x), axis=1))
    tl.store(y_ptr + at, x - lse[:, None], mask=mask)


class Model(nn.Module):
    def forward(self, x):
        return torch.log_softmax(x, dim=-1)


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        M, N = x.shape
        log_softmax_kernel[(triton.cdiv(M, 8),)](x, y, M, N, x.stride(0), BLOCK_M=8, BLOCK_N=triton.next_power_of_2(N))
        return y


def get_inputs():
    return [torch.randn(45, 200)]


def get_init_inputs():
    return []
