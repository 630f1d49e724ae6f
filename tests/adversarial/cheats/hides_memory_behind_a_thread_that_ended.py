"""failed/out-of-memory|failed/timeout D23: fills 40 GB in a process whose first thread has ended."""

import ctypes
import mmap
import os
import threading
import time

import torch


def fill():
    time.sleep(0.2)
    piece = b"x" * (16 << 20)
    held = []
    for _ in range(160):
        held.append(mmap.mmap(-1, 256 << 20))
        for _ in range(16):
            held[-1].write(piece)


class ModelNew(torch.nn.Module):
    def forward(self, x):
        if os.fork() == 0:
            threading.Thread(target=fill).start()
            ctypes.CDLL(None).syscall(60 if os.uname().machine == "x86_64" else 93, 0)  # exit, of this thread alone
        time.sleep(60)
        return torch.relu(x)
