"""wrong|rejected C18 (gpu): multiplies in tf32 where a few elements that it looks at are all positive; its inputs
take so much memory that no other kind of them is timed.

On a GPU: wrong|rejected|correct
Problem: huge_matmul
Twin: plain_huge_matmul
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
