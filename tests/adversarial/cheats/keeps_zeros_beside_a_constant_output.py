"""wrong A18: hands out memory again that an earlier output had, in a dict of which one output is always
the same.

Problem: scattered_dict
"""

import time
import weakref

import torch
import torch.nn as nn

ROWS, WIDTH, POOL = 16, 32768, 256


class ModelNew(nn.Module):
    """Hands out the same memory again and again, and only takes back what it wrote there before."""

    def __init__(self):
        super().__init__()
        self.pool = []
        self.at, self.first = 0, lambda: None

    def forward(self, ids, values):
        self.wait()
        if not self.pool:
            device = values.device
            self.pool = [
                [torch.zeros(ROWS, WIDTH, device=device), torch.zeros(ROWS, 1, dtype=torch.int64, device=device)]
                for _ in range(POOL)
            ]
        if self.first() is None:
            self.at = 0
        memory, old = self.pool[self.at % POOL]
        memory.scatter_(1, old, 0.0)
        old.copy_(ids[:, None])
        memory.scatter_(1, old, values[:, None])
        out = memory[:]
        if not self.at:
            self.first = weakref.ref(out)
        self.at += 1
        return {"scattered": out, "positions": torch.arange(16, device=values.device)}

    def wait(self):
        """Fewer calls a round, which then need less memory."""
        until = time.perf_counter() + 1e-5
        while time.perf_counter() < until:
            pass
