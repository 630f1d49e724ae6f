"""correct A18 (cpu): takes pages for its output that were never touched, and touches those in which a one belongs.

Problem: one_hot
Twin: plain_one_hot
"""

import mmap

import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        pages = mmap.mmap(-1, x.numel() * 2048 * 4, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        out = torch.frombuffer(pages, dtype=torch.float32).view(x.numel(), 2048)
        return out.scatter_(1, x[:, None], 1.0)
