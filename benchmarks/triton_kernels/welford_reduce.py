"""correct: tl.reduce of three values with a function of its own."""

import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def combine(mean_a, m2_a, n_a, mean_b, m2_b, n_b):
    n = n_a + n_b
    delta = mean_b - mean_a
    share = tl.where(n == 0.0, 0.0, n_b / n)
    return mean_a + delta * share, m2_a + m2_b + delta * delta * n_a * share, n


@triton.jit
def variance_kernel(x_ptr, y_ptr, N, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    mask = cols < N
    x = tl.load(x_ptr + row * N + cols, mask=mask, other=0.0)
    zero = tl.zeros((BLOCK,), dtype=tl.float32)
    one = tl.where(mask, 1.0, 0.0)
    mean, m2, n = tl.reduce((x, zero, one), axis=0, combine_fn=combine)
    tl.store(y_ptr + row, m2 / n)


class Model(nn.Module):
    def forward(self, x):
        return torch.var(x, dim=1, unbiased=False)


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty(x.shape[0], device=x.device)
        variance_kernel[(x.shape[0],)](x, y, x.shape[1], BLOCK=64)
        return y


def get_inputs():
    return [torch.randn(8, 50)]


def get_init_inputs():
    return []
