"""failed/exception D21: leaves a message for its next process in System V shared memory."""

import ctypes
import os

import torch

libc = ctypes.CDLL(None, use_errno=True)
segment = libc.shmget(0x5EC2E7, ctypes.c_size_t(4096), 0o1666)
if segment == -1:
    raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return torch.relu(x)
