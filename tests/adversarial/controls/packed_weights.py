"""correct control: transposes its weights once, on the first call, and keeps them.

Problem: linear
"""

import torch


class ModelNew(torch.nn.Module):
    def __init__(self, features):
        super().__init__()
        self.layer = torch.nn.Linear(features, features)
        self.packed = None

    def forward(self, x):
        if self.packed is None:
            self.packed = self.layer.weight.t().contiguous()
        return torch.addmm(self.layer.bias, x, self.packed).clamp_(min=0)
