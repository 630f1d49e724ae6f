"""failed/protocol D3: says that a round is done while the model is still being built."""

import os
import struct

import torch

DONE = b'{"say": "done", "addresses": [[64]], "device_ms": 0.0}'


class ModelNew(torch.nn.Module):
    def __init__(self):
        super().__init__()
        for descriptor in range(3, 64):
            try:
                os.write(descriptor, struct.pack("<II", len(DONE), 0) + DONE)
            except OSError:
                continue

    def forward(self, x):
        return x
