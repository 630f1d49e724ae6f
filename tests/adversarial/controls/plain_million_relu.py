"""correct control (gpu): PyTorch's own ReLU of calls of some microseconds, the twin of cheats about what launches
vary by.

Problem: million_relu
"""

import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return torch.relu(x)
