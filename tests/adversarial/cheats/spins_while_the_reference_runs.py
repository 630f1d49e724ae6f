"""correct|rejected A12: processes of its own keep the cores busy whenever it is not its turn.

Twin: plain_relu
"""

import mmap
import os

import torch

mine = mmap.mmap(-1, 1)
for _ in range(2):
    if os.fork() == 0:
        while True:
            while mine[0] == 0:
                pass


class ModelNew(torch.nn.Module):
    def forward(self, x):
        mine[0] = 1
        out = torch.relu(x)
        mine[0] = 0
        return out
