"""wrong/inputs-changed C5: returns the right sums and leaves the running mean alone, which the reference updates.

Problem: running_mean
"""

import torch


class ModelNew(torch.nn.Module):
    def forward(self, running, x):
        return torch.relu(x).sum(-1)
