"""correct control: the layer under another name and PyTorch's own function.

Problem: linear
"""

import torch
import torch.nn.functional as F


class ModelNew(torch.nn.Module):
    def __init__(self, features):
        super().__init__()
        self.gemm = torch.nn.Linear(features, features)

    def forward(self, x):
        return F.relu(F.linear(x, self.gemm.weight, self.gemm.bias))
