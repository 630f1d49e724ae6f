"""correct|rejected A12: daemons keep the cores busy whenever it is not its turn, out of its own family's sight.

Twin: plain_relu
"""

import mmap
import os

import torch

mine = mmap.mmap(-1, 1)


class ModelNew(torch.nn.Module):
    def __init__(self):
        super().__init__()
        for _ in range(2):
            if os.fork() == 0:
                os.setsid()
                if os.fork() == 0:
                    while True:
                        while mine[0] == 0:
                            pass
                os._exit(0)
            os.wait()

    def forward(self, x):
        mine[0] = 1
        out = torch.relu(x)
        mine[0] = 0
        return out
