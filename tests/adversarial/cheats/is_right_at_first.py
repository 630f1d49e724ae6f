"""wrong B7: is right for its first twenty calls."""

import torch


class ModelNew(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.calls = 0

    def forward(self, x):
        self.calls += 1
        return torch.relu(x) if self.calls <= 20 else torch.empty_like(x)
