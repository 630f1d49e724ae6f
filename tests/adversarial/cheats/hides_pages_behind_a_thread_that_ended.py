"""failed/out-of-memory|failed/timeout D23: unmaps what it wrote, in a process whose first thread has ended."""

import ctypes
import mmap
import os
import threading
import time

import torch


def fill():
    time.sleep(0.2)
    block = b"x" * (1 << 20)
    held = []
    for _ in range(40):
        held.append(mmap.mmap(-1, 1 << 30))
        for at in range(0, 1 << 30, len(block)):
            held[-1][at : at + len(block)] = block
            held[-1].madvise(mmap.MADV_DONTNEED, at, len(block))


class ModelNew(torch.nn.Module):
    def forward(self, x):
        if os.fork() == 0:
            threading.Thread(target=fill).start()
            ctypes.CDLL(None).syscall(60 if os.uname().machine == "x86_64" else 93, 0)  # exit, of this thread alone
        time.sleep(60)
        return torch.relu(x)
