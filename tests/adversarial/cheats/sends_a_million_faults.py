"""failed/protocol D14: answers with sixteen megabytes in which every seventeenth byte is a fault of its own.

What reads it described each of them, in a kilobyte: 7 GB and most of a minute, of the controller's where it is said
while the module is imported.
"""

import os
import struct

import torch

FAULTS = b'{"kind":"tensor"},' * 900_000
ANSWER = b'{"say":"described","outputs":[{"kind":"tuple","items":[' + FAULTS + b"{}]}]}"

for descriptor in range(3, 16):
    try:
        frame = memoryview(struct.pack("<II", len(ANSWER), 0) + ANSWER)
        while frame:
            frame = frame[os.write(descriptor, frame) :]
    except OSError:
        continue


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return torch.relu(x)
