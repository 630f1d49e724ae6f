"""correct control (gpu): PyTorch's own layer, and the honest twin of cheats about weights.

Problem: thin_linear
"""

import torch


class ModelNew(torch.nn.Module):
    def __init__(self, features):
        super().__init__()
        self.layer = torch.nn.Linear(features, features)

    def forward(self, x):
        return self.layer(x)
