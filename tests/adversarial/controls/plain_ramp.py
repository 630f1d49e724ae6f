"""correct control: the product, computed each time though its inputs never change.

Problem: ramp
"""

import torch


class ModelNew(torch.nn.Module):
    def forward(self, a, b):
        return a @ b
