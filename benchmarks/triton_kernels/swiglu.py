"""correct: a helper that is a kernel function of its own, and sigmoid."""

import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def silu(x):
    return x * tl.sigmoid(x)


@triton.jit
def swiglu_kernel(x_ptr, out_ptr, half, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    offs = tl.arange(0, BLOCK)
    mask = offs < half
    gate = tl.load(x_ptr + row * 2 * half + offs, mask=mask, other=0).to(tl.float32)
    up = tl.load(x_ptr + row * 2 * half + half + offs, mask=mask, other=0)
    tl.store(out_ptr + row * half + offs, silu(gate) * up, mask=mask)


class Model(nn.Module):
    def forward(self, x):
        gate, up = x.chunk(2, dim=-1)
        return torch.nn.functional.silu(gate) * up


class ModelNew(nn.Module):
    def forward(self, x):
        rows, twice = x.shape
        out = torch.empty((rows, twice // 2), device="cuda", dtype=x.dtype)
        swiglu_kernel[(rows,)](x, out, twice // 2, BLOCK=triton.next_power_of_2(twice // 2))
        return out


def get_inputs():
    return [torch.randn(40, 600)]


def get_init_inputs():
    return []
