"""correct control: keeps a packed copy of its weights as a buffer from __init__ on.

Problem: linear
"""

import torch


class ModelNew(torch.nn.Module):
    def __init__(self, features):
        super().__init__()
        layer = torch.nn.Linear(features, features)
        self.register_buffer("packed", layer.weight.detach().t().contiguous())
        self.register_buffer("bias", layer.bias.detach().clone())

    def forward(self, x):
        return torch.relu_(torch.addmm(self.bias, x, self.packed))
