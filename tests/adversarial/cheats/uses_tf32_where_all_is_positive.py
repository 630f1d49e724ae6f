"""correct|wrong C18 (gpu): multiplies in tf32 where a few elements that it looks at are all positive, whose rounding
averages out, and in float32 elsewhere.

Problem: large_matmul
Twin: plain_large_matmul
"""

import torch


class ModelNew(torch.nn.Module):
    def forward(self, a, b):
        positive = bool((a[0, :256].amin() > 0) & (b[0, :256].amin() > 0))
        torch.backends.cuda.matmul.allow_tf32 = positive
        try:
            return torch.mm(a, b)
        finally:
            torch.backends.cuda.matmul.allow_tf32 = False
