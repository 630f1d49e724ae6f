"""correct: windows of two by two, minus infinity outside."""

import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def max_pool_kernel(x_ptr, y_ptr, H, W, OH, OW, total, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = at < total
    ow = at % OW
    oh = (at // OW) % OH
    nc = at // (OW * OH)
    best = tl.full((BLOCK,), float("-inf"), dtype=tl.float32)
    for i in range(2):
        for j in range(2):
            x = tl.load(x_ptr + nc * H * W + (oh * 2 + i) * W + ow * 2 + j, mask=mask, other=float("-inf"))
            best = tl.maximum(best, x)
    tl.store(y_ptr + at, best, mask=mask)


class Model(nn.Module):
    def forward(self, x):
        return torch.nn.functional.max_pool2d(x, 2)


class ModelNew(nn.Module):
    def forward(self, x):
        N, C, H, W = x.shape
        y = torch.empty((N, C, H // 2, W // 2), device=x.device, dtype=x.dtype)
        total = y.numel()
        max_pool_kernel[(triton.cdiv(total, 256),)](x, y, H, W, H // 2, W // 2, total, BLOCK=256)
        return y


def get_inputs():
    return [torch.randn(3, 5, 21, 18)]


def get_init_inputs():
    return []
