"""correct: rows of a matrix against a vector, two sums."""

import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def matvec_kernel(a_ptr, x_ptr, y_ptr, M, N, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr):
    rows = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    acc = tl.zeros([BLOCK_M, BLOCK_N], dtype=tl.float32)
    for start in tl.range(0, N, BLOCK_N, num_stages=2):
        cols = start + tl.arange(0, BLOCK_N)
        a = tl.load(a_ptr + rows[:, None] * N + cols[None, :], mask=(rows < M)[:, None] & (cols < N)[None, :], other=0.0)
        x = tl.load(x_ptr + cols, mask=cols < N, other=0.0)
        acc += a * x[None, :]
    tl.store(y_ptr + rows, tl.sum(acc, 1), mask=rows < M)


class Model(nn.Module):
    def forward(self, a, x):
        return a @ x


class ModelNew(nn.Module):
    def forward(self, a, x):
        M, N = a.shape
        y = torch.empty((M, 1), device=a.device, dtype=a.dtype)
        matvec_kernel[(triton.cdiv(M, 16),)](a, x, y, M, N, BLOCK_M=16, BLOCK_N=128)
        return y


def get_inputs():
    return [torch.randn(100, 700), torch.randn(700, 1)]


def get_init_inputs():
    return []
