"""correct control: a product of whole numbers, computed each time though its inputs never change.

Problem: counts
"""

import torch


class ModelNew(torch.nn.Module):
    def forward(self, a, b):
        return (a.float() @ b.float()).to(torch.int32)
