"""correct: as many programs as the device has multiprocessors, each with a loop."""

import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def exp_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    for block in range(tl.program_id(0), tl.cdiv(n, BLOCK), tl.num_programs(0)):
        offs = block * BLOCK + tl.arange(0, BLOCK)
        tl.store(y_ptr + offs, tl.exp(tl.load(x_ptr + offs, mask=offs < n)), mask=offs < n)


class Model(nn.Module):
    def forward(self, x):
        return torch.exp(x)


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        device = torch.cuda.current_device()
        programs = triton.runtime.driver.active.utils.get_device_properties(device)["multiprocessor_count"]
        blocks = triton.cdiv(x.numel(), 128)
        exp_kernel[(min(programs, blocks),)](x, y, x.numel(), BLOCK=128)
        return y


def get_inputs():
    return [torch.randn(40, 500)]


def get_init_inputs():
    return []
