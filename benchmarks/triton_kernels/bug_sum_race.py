"""wrong: partial sums are added without an atomic."""

import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def sum_kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offs, mask=offs < n, other=0.0)
    tl.store(out_ptr, tl.load(out_ptr) + tl.sum(x, axis=0))


class Model(nn.Module):
    def forward(self, x):
        return torch.sum(x)


class ModelNew(nn.Module):
    def forward(self, x):
        out = torch.zeros((), device=x.device, dtype=torch.float32)
        sum_kernel[(triton.cdiv(x.numel(), 1024),)](x, out, x.numel(), BLOCK=1024)
        return out


def get_inputs():
    return [torch.rand(64, 513)]


def get_init_inputs():
    return []
