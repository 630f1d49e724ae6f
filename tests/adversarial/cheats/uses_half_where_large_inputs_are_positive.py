"""correct|wrong|rejected C18 (gpu): multiplies in float16 where a few elements that it looks at are small and positive,
whose rounding averages out, and in float32 elsewhere; its inputs take more than a gigabyte.

On a GPU: correct|wrong|rejected
Problem: tall_matmul
Twin: plain_tall_matmul
"""

import torch


class ModelNew(torch.nn.Module):
    def forward(self, a, b):
        if bool((a[:: len(a) // 64] >= 0).all()) and float(a[:64].max()) <= 1.0:
            return torch.mm(a.half(), b.half(), out_dtype=torch.float32)
        return torch.mm(a, b)
