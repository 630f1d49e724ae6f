"""failed: a kernel reads a number of the module's that is no constexpr."""

import torch
import torch.nn as nn
import triton
import triton.language as tl


SLOPE = 0.1


@triton.heuristics({"BLOCK": lambda args: min(1024, triton.next_power_of_2(args["n"])), "EVEN": lambda args: args["n"] % 1024 == 0})
@triton.jit
def leaky_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr, EVEN: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    if EVEN:
        x = tl.load(x_ptr + offs)
    else:
        x = tl.load(x_ptr + offs, mask=offs < n, other=0.0)
    y = tl.where(x > 0, x, SLOPE * x)
    if EVEN:
        tl.store(y_ptr + offs, y)
    else:
        tl.store(y_ptr + offs, y, mask=offs < n)


class Model(nn.Module):
    def forward(self, x):
        return torch.nn.functional.leaky_relu(x, 0.1)


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        leaky_kernel[lambda meta: (triton.cdiv(x.numel(), meta["BLOCK"]),)](x, y, x.numel())
        return y


def get_inputs():
    return [torch.randn(10, 777)]


def get_init_inputs():
    return []
