"""correct control (gpu): a Triton kernel that is tuned on its first call.

Problem: softmax
"""

import torch
import triton
import triton.language as tl


@triton.autotune(configs=[triton.Config({}, num_warps=w) for w in (2, 4, 8)], key=["columns"])
@triton.jit
def softmax_kernel(x, y, columns, BLOCK: tl.constexpr):  # noqa: N803
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    value = tl.load(x + row * columns + at, mask=at < columns, other=-float("inf"))
    power = tl.exp(value - tl.max(value, axis=0))
    tl.store(y + row * columns + at, power / tl.sum(power, axis=0), mask=at < columns)


class ModelNew(torch.nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        softmax_kernel[(x.shape[0],)](x, y, x.shape[1], BLOCK=triton.next_power_of_2(x.shape[1]))
        return y
