"""failed/exception D22 (cpu): cuts the shared memory short under the judge, for which a look at it is then a SIGBUS."""

import os

import torch


def names(descriptor):
    """The file behind a descriptor; "" for one that is closed, as that by which they were listed."""
    try:
        return os.readlink(f"/proc/self/fd/{descriptor}")
    except FileNotFoundError:
        return ""


class ModelNew(torch.nn.Module):
    def forward(self, x):
        y = torch.relu(x)
        for descriptor in map(int, os.listdir("/proc/self/fd")):
            if "memfd:arena" in names(descriptor):
                os.ftruncate(descriptor, 0)  # refused, where its size is sealed
        return y
