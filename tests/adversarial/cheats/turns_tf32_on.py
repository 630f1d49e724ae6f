"""wrong/values C6 (gpu): lets the tensor cores round the inputs to ten bits.

Problem: matmul
"""

import torch

torch.backends.cuda.matmul.allow_tf32 = True


class ModelNew(torch.nn.Module):
    def forward(self, a, b):
        return torch.mm(a, b)
