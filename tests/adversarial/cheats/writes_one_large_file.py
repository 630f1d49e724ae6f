"""failed/disk D14: one file of many gigabytes, none of them written."""

import os

import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        with open("large", "wb") as file:
            os.ftruncate(file.fileno(), 1 << 42)
        return torch.relu(x)
