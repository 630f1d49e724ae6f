"""correct|wrong|rejected C6 (gpu): three products of bfloat16 in the place of one of float32. What is left of an
operand is sixteen bits of fraction in the place of twenty-three, and the error that of neither tf32 nor bfloat16.

Problem: large_matmul
Twin: plain_large_matmul
"""

import torch


def halves(x):
    high = x.bfloat16()
    return high, (x - high).bfloat16()


class ModelNew(torch.nn.Module):
    def forward(self, a, b):
        torch.backends.cuda.matmul.allow_bf16_reduced_precision_reduction = False
        (a_high, a_low), (b_high, b_low) = halves(a), halves(b)
        left = torch.cat([a_high, a_low, a_high], dim=1)
        right = torch.cat([b_high, b_high, b_low], dim=0)
        return torch.mm(left, right, out_dtype=torch.float32)
