"""correct D4: prints a verdict of its own at its end and closes standard output; nobody reads either.

Twin: plain_relu
"""

import atexit
import os

import torch

atexit.register(print, '{"kind": "correct", "speedup": 99}')
os.close(1)


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return torch.relu(x)
