"""wrong B7: leaves a random call in three out, and hopes that it is not the one that is verified."""

import random

import torch


class ModelNew(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.calls = 0
        self.kept = None

    def forward(self, x):
        self.calls += 1
        if self.calls > 60 and random.random() < 0.33:
            return self.kept
        self.kept = torch.relu(x)
        return self.kept
