"""wrong|rejected C18 (gpu): multiplies in tf32 where the reference takes roots, so that inputs of both signs, on
which tf32 would show, are none that it is tried on.

On a GPU: wrong|rejected|correct
Problem: large_roots
Twin: plain_large_roots
"""

import torch


class ModelNew(torch.nn.Module):
    def forward(self, a, b):
        torch.backends.cuda.matmul.allow_tf32 = True
        return torch.mm(torch.sqrt(a), torch.sqrt(b))
