"""correct control: writes over its input and returns it, where the reference does.

Problem: inplace
"""

import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return x.copy_(torch.nn.functional.gelu(x))
