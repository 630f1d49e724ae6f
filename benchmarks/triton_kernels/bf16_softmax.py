"""correct: loads and stores bfloat16, computes in float32; a product in bfloat16 first."""

import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def softmax_kernel(x_ptr, y_ptr, N, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * N + cols, mask=cols < N, other=-float("inf"))
    x = (x * 0.5).to(tl.float32)
    e = tl.exp(x - tl.max(x, axis=0))
    tl.store(y_ptr + row * N + cols, (e / tl.sum(e, axis=0)).to(tl.bfloat16), mask=cols < N)


class Model(nn.Module):
    def forward(self, x):
        return torch.softmax(x * 0.5, dim=1)


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        softmax_kernel[(x.shape[0],)](x, y, x.shape[1], BLOCK=256)
        return y


def get_inputs():
    return [torch.randn(30, 200).bfloat16()]


def get_init_inputs():
    return []
