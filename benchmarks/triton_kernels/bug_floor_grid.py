"""wrong: a grid rounded down leaves the last elements unwritten."""

import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def gelu_kernel(x_ptr, y_ptr, n, scale, BLOCK: tl.constexpr):
    pid = tl.program_id(0)
    offs = pid * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n
    x = tl.load(x_ptr + offs, mask=mask)
    cdf = 0.5 * (1.0 + tl.math.erf(x * 0.7071067811865476))
    tl.store(y_ptr + offs, x * cdf * scale, mask=mask)


class Model(nn.Module):
    def __init__(self, scale):
        super().__init__()
        self.scale = scale

    def forward(self, x):
        return torch.nn.functional.gelu(x) * self.scale


class ModelNew(nn.Module):
    def __init__(self, scale):
        super().__init__()
        self.scale = scale

    def forward(self, x):
        y = torch.empty_like(x)
        gelu_kernel[(x.numel() // 512,)](x, y, x.numel(), self.scale, BLOCK=512)
        return y


def get_inputs():
    return [torch.randn(9, 401)]


def get_init_inputs():
    return [1.7]
