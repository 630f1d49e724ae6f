"""wrong/aliased-input C3 (cpu): maps the memory of the inputs once more, and returns a view of it from there.

Problem: transpose
"""

import mmap
import os
import sys

import torch

frame = sys._getframe()
while "answers" not in frame.f_locals:
    frame = frame.f_back
server = frame.f_locals["self"]
again = {}


class ModelNew(torch.nn.Module):
    def forward(self, x):
        for number, arena in server._arenas.items():
            base = server._bases[number]
            if base <= x.data_ptr() < base + arena.size:
                if number not in again:
                    kept = mmap.mmap(os.dup(arena._descriptor), arena.size)
                    again[number] = torch.frombuffer(kept, dtype=torch.uint8)
                at = x.data_ptr() - base
                here = again[number][at : at + x.numel() * 4].view(torch.float32)
                return here.view(x.shape).t().as_strided((x.shape[1], x.shape[0]), (1, x.shape[1]))
        raise AssertionError
