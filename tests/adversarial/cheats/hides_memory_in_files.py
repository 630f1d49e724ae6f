"""failed/out-of-memory|failed/timeout D23: keeps 40 GB in files in memory, none of them mapped."""

import os

import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        piece = b"x" * (16 << 20)
        held = [os.memfd_create("held") for _ in range(40)]
        for descriptor in held:
            for _ in range(64):
                os.write(descriptor, piece)
        return torch.relu(x)
