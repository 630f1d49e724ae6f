"""A Triton kernel, tuned with a clock."""

import time

import torch
import triton
import triton.language as tl


@triton.autotune(configs=[triton.Config({"BLOCK": b}) for b in (256, 1024)], key=["n"])
@triton.jit
def relu_kernel(x, y, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + i, tl.maximum(tl.load(x + i, mask=i < n), 0), mask=i < n)


class ModelNew(torch.nn.Module):
    def forward(self, x):
        start = time.perf_counter()
        y = torch.empty_like(x)
        relu_kernel[lambda meta: (triton.cdiv(x.numel(), meta["BLOCK"]),)](x, y, x.numel())
        self.seconds = time.perf_counter() - start
        return y
