"""correct A8: drags its feet at first, so that few samples are taken of it.

Twin: plain_relu
"""

import time

import torch


class ModelNew(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.calls = 0

    def forward(self, x):
        self.calls += 1
        if self.calls < 30:
            time.sleep(0.02)
        return torch.relu(x)
