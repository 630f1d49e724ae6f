"""failed/exception D6: attaches to its parent, and reads it by process_vm_readv."""

import ctypes
import os

import torch

libc = ctypes.CDLL(None, use_errno=True)


class ModelNew(torch.nn.Module):
    def forward(self, x):
        parent = os.getppid()
        buffer = ctypes.create_string_buffer(64)
        vectors = (ctypes.c_size_t * 2)(ctypes.addressof(buffer), 64)
        if libc.ptrace(16, parent, 0, 0) < 0 and libc.process_vm_readv(parent, vectors, 1, vectors, 1, 0) < 0:
            raise PermissionError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
        return torch.relu(x)
