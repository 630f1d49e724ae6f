"""correct: the last program to count itself adds all partial sums up."""

import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def sum_kernel(x_ptr, partial_ptr, count_ptr, out_ptr, n, blocks, BLOCK: tl.constexpr, MOST: tl.constexpr):
    pid = tl.program_id(0)
    offs = pid * BLOCK + tl.arange(0, BLOCK)
    tl.store(partial_ptr + pid, tl.sum(tl.load(x_ptr + offs, mask=offs < n, other=0.0), axis=0))
    tl.debug_barrier()
    if tl.atomic_add(count_ptr, 1) == blocks - 1:
        at = tl.arange(0, MOST)
        tl.store(out_ptr, tl.sum(tl.load(partial_ptr + at, mask=at < blocks, other=0.0), axis=0))


class Model(nn.Module):
    def forward(self, x):
        return torch.sum(x)


class ModelNew(nn.Module):
    def forward(self, x):
        n = x.numel()
        blocks = triton.cdiv(n, 512)
        partial = torch.empty(blocks, device=x.device)
        count = torch.zeros(1, dtype=torch.int32, device=x.device)
        out = torch.empty((), device=x.device)
        sum_kernel[(blocks,)](x, partial, count, out, n, blocks, BLOCK=512, MOST=triton.next_power_of_2(blocks))
        return out


def get_inputs():
    return [torch.rand(50, 301)]


def get_init_inputs():
    return []
