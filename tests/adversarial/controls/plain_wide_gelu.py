"""correct control (gpu): one kernel for nine operations, and the honest twin of cheats about the device's queue.

Problem: wide_gelu
"""

import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return torch.nn.functional.gelu(x, approximate="tanh")
