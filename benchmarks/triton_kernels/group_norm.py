"""correct: a group a program, four dimensions made two."""

import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def group_norm_kernel(x_ptr, w_ptr, b_ptr, y_ptr, spatial, channels, groups, eps, BLOCK: tl.constexpr):
    n = tl.program_id(0)
    g = tl.program_id(1)
    per_group = channels // groups
    size = per_group * spatial
    base = (n * channels + g * per_group) * spatial
    total = 0.0
    squares = 0.0
    for start in range(0, size, BLOCK):
        offs = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + base + offs, mask=offs < size, other=0.0)
        total += tl.sum(x)
        squares += tl.sum(x * x)
    mean = total / size
    rstd = 1.0 / tl.sqrt(squares / size - mean * mean + eps)
    for start in range(0, size, BLOCK):
        offs = start + tl.arange(0, BLOCK)
        mask = offs < size
        channel = g * per_group + offs // spatial
        x = tl.load(x_ptr + base + offs, mask=mask)
        w = tl.load(w_ptr + channel, mask=mask)
        b = tl.load(b_ptr + channel, mask=mask)
        tl.store(y_ptr + base + offs, (x - mean) * rstd * w + b, mask=mask)


class Model(nn.Module):
    def __init__(self, groups, channels):
        super().__init__()
        self.norm = nn.GroupNorm(groups, channels)

    def forward(self, x):
        return self.norm(x)


class ModelNew(nn.Module):
    def __init__(self, groups, channels):
        super().__init__()
        self.norm = nn.GroupNorm(groups, channels)

    def forward(self, x):
        x = x.contiguous()
        y = torch.empty_like(x)
        n, c, h, w = x.shape
        g = self.norm.num_groups
        group_norm_kernel[(n, g)](x, self.norm.weight, self.norm.bias, y, h * w, c, g, self.norm.eps, BLOCK=256)
        return y


def get_inputs():
    return [torch.randn(4, 24, 9, 11)]


def get_init_inputs():
    return [4, 24]
