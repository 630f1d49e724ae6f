"""wrong/aliased-output B1 (cpu): returns the same memory for every call, which it has mapped twice: outputs of two
calls have addresses of their own, and the second call writes over what the first one returned.

Problem: relu
Twin: plain_relu
"""

import ctypes
import mmap
import os

import torch

libc = ctypes.CDLL(None)
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
SHARED = mmap.MAP_SHARED
buffers = {}


def twice(size):
    file = os.memfd_create("buffer")
    os.ftruncate(file, size)
    places = [libc.mmap(None, size, 3, SHARED, file, 0) for _ in range(2)]
    return [torch.frombuffer((ctypes.c_char * size).from_address(place), dtype=torch.float32) for place in places]


class ModelNew(torch.nn.Module):
    def forward(self, x):
        mine = buffers.setdefault(x.shape, [])
        if not mine:
            mine.extend(twice(4 * x.numel()))
        mine.reverse()
        return torch.clamp(x, min=0, out=mine[0].view(x.shape))
