"""correct control (gpu): PyTorch's own ReLU, and the honest twin of cheats about the bandwidth of the device.

Problem: mid_relu
"""

import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return torch.relu(x)
