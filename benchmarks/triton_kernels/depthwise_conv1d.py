"""correct: causal, one channel a program."""

import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def conv_kernel(x_ptr, w_ptr, y_ptr, C, L, K: tl.constexpr, BLOCK: tl.constexpr):
    b = tl.program_id(0)
    c = tl.program_id(1)
    t = tl.arange(0, BLOCK)
    acc = tl.zeros((BLOCK,), tl.float32)
    for k in tl.static_range(K):
        at = t - (K - 1) + k
        acc += tl.load(x_ptr + (b * C + c) * L + at, mask=(at >= 0) & (at < L), other=0.0) * tl.load(w_ptr + c * K + k)
    tl.store(y_ptr + (b * C + c) * L + t, acc, mask=t < L)


class Model(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.conv = nn.Conv1d(channels, channels, 4, padding=3, groups=channels, bias=False)

    def forward(self, x):
        return self.conv(x)[..., : x.shape[-1]]


class ModelNew(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.conv = nn.Conv1d(channels, channels, 4, padding=3, groups=channels, bias=False)

    def forward(self, x):
        B, C, L = x.shape
        y = torch.empty_like(x)
        conv_kernel[(B, C)](x, self.conv.weight, y, C, L, K=4, BLOCK=triton.next_power_of_2(L))
        return y


def get_inputs():
    return [torch.randn(3, 16, 100)]


def get_init_inputs():
    return [16]
