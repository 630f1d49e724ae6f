"""failed/out-of-memory D23 (cpu): maps a file whose name the kernel writes out in fifteen thousand characters sixty
thousand times, so that whoever asks for its mappings reads a gigabyte, and takes more than its memory meanwhile.

Problem: relu
"""

import ctypes
import mmap
import os
import time

import torch

libc = ctypes.CDLL(None)
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
SIZE = 2 << 30
top = os.getcwd()
for _ in range(15):
    os.mkdir("\n" * 250)
    os.chdir("\n" * 250)
file = os.open("a", os.O_RDWR | os.O_CREAT)
os.ftruncate(file, mmap.PAGESIZE)
for _ in range(60_000):
    libc.mmap(None, mmap.PAGESIZE, 1, mmap.MAP_SHARED, file, 0)
os.chdir(top)
time.sleep(2)  # until it is looked at
large = mmap.mmap(-1, SIZE)
for at in range(0, SIZE, mmap.PAGESIZE):
    large[at] = 1
large.close()


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return torch.relu(x)
