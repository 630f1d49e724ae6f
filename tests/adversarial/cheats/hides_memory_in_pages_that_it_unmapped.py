"""failed/out-of-memory|failed/timeout D23: fills 40 GB of shared memory and unmaps each page once it is written."""

import mmap

import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        block = b"x" * (1 << 20)
        held = []
        for _ in range(40):
            held.append(mmap.mmap(-1, 1 << 30))
            for at in range(0, 1 << 30, len(block)):
                held[-1][at : at + len(block)] = block
                held[-1].madvise(mmap.MADV_DONTNEED, at, len(block))
        return torch.relu(x)
