"""correct control (gpu): PyTorch's own ReLU, and the honest twin of cheats that are bound by memory.

Problem: wide_relu
"""

import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return torch.relu(x)
