"""correct D14: writes a hundred megabytes to its log, and is right."""

import sys

import torch


class ModelNew(torch.nn.Module):
    def __init__(self):
        super().__init__()
        for _ in range(100):
            sys.stdout.write("x" * 1_000_000)

    def forward(self, x):
        return torch.relu(x)
