"""correct: the mean over the middle dimension, strides as arguments."""

import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def mean_kernel(x_ptr, y_ptr, K, N, stride_b, stride_k, BLOCK_N: tl.constexpr):
    b = tl.program_id(0)
    n = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    acc = tl.zeros((BLOCK_N,), dtype=tl.float32)
    for k in range(K):
        acc += tl.load(x_ptr + b * stride_b + k * stride_k + n, mask=n < N, other=0.0)
    tl.store(y_ptr + b * N + n, acc / K, mask=n < N)


class Model(nn.Module):
    def forward(self, x):
        return torch.mean(x, dim=1)


class ModelNew(nn.Module):
    def forward(self, x):
        B, K, N = x.shape
        y = torch.empty((B, N), device=x.device, dtype=x.dtype)
        mean_kernel[(B, triton.cdiv(N, 64))](x, y, K, N, x.stride(0), x.stride(1), BLOCK_N=64)
        return y


def get_inputs():
    return [torch.randn(6, 50, 100)]


def get_init_inputs():
    return []
