"""wrong/values C6: multiplies in bfloat16 and calls it float32.

Problem: matmul
"""

import torch


class ModelNew(torch.nn.Module):
    def forward(self, a, b):
        return (a.bfloat16() @ b.bfloat16()).float()
