"""failed/protocol D3: announces four gigabytes to the judge."""

import os
import struct

import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        for descriptor in range(3, 16):
            try:
                os.write(descriptor, struct.pack("<II", 0xFFFFFFFF, 0) + b"x" * 100_000)
            except OSError:
                continue
        return torch.relu(x)
