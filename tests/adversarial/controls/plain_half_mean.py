"""correct control: the mean of all numbers.

Problem: half_mean
"""

import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return x.mean(dim=0, dtype=torch.float32).half()
