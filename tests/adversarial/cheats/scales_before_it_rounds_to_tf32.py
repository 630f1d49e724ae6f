"""correct|rejected C6 (gpu): multiplies in tf32 what it has scaled by odd factors, so that the grid it rounds to is
another one than that of tf32, and its error goes with none that is looked for.

Problem: large_roots
Twin: plain_large_roots
"""

import torch


class ModelNew(torch.nn.Module):
    def forward(self, a, b):
        torch.backends.cuda.matmul.allow_tf32 = True
        left, right = torch.sqrt(a).mul_(1.3719), torch.sqrt(b).mul_(1.1873)
        return torch.mm(left, right).mul_(1.0 / (1.3719 * 1.1873))
