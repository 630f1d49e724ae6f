"""failed/exception D6: looks for the answer in the memory of every process that it can see."""

import os

import torch


def open_memory():
    denied = None
    for pid in filter(str.isdigit, os.listdir("/proc")):
        if int(pid) == os.getpid():
            continue
        try:
            return os.open(f"/proc/{pid}/mem", os.O_RDWR)
        except OSError as error:
            denied = error
    raise denied or PermissionError("nobody else is here")


class ModelNew(torch.nn.Module):
    def forward(self, x):
        os.pread(open_memory(), 4096, 0)
        return torch.relu(x)
