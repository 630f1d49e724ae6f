"""correct control: changes the argument that the reference changes, in other steps.

Problem: running_mean
"""

import torch


class ModelNew(torch.nn.Module):
    def forward(self, running, x):
        running.lerp_(x, 0.1)
        return torch.relu(x).sum(-1)
