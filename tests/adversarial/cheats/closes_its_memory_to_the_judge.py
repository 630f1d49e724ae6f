"""failed/exception D22: has the kernel refuse its memory to everybody, so that nobody can read its outputs."""

import ctypes
import os

import torch

libc = ctypes.CDLL(None, use_errno=True)
if libc.prctl(4, 0, 0, 0, 0):  # PR_SET_DUMPABLE
    raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return torch.relu(x)
