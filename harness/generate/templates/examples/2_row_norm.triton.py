import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def row_norm_kernel(x_ptr, out_ptr, columns, eps, BLOCK: tl.constexpr):
    start = tl.program_id(0).to(tl.int64) * columns
    sums = tl.zeros([BLOCK], dtype=tl.float32)
    for first in range(0, columns, BLOCK):
        offsets = first + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + start + offsets, mask=offsets < columns, other=0.0)
        sums += x * x
    scale = 1.0 / (tl.sqrt(tl.sum(sums, axis=0)) + eps)
    for first in range(0, columns, BLOCK):
        offsets = first + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + start + offsets, mask=offsets < columns, other=0.0)
        tl.store(out_ptr + start + offsets, x * scale, mask=offsets < columns)


class ModelNew(nn.Module):
    def __init__(self, eps):
        super().__init__()
        self.eps = eps

    def forward(self, x):
        x = x.contiguous()
        out = torch.empty_like(x)
        row_norm_kernel[(x.size(0),)](x, out, x.size(1), self.eps, BLOCK=1024)
        return out
