"""wrong A18 (gpu): copies the weights into its outputs when it is told to let go of those before, so that its calls
copy the input alone: not zeros alone can be ready, but whatever no input decides.

Problem: beside_weights
Twin: plain_beside_weights
"""

import sys

import torch

n = 4096
pool, used, tables = [], [], []
frame = sys._getframe()
while frame is not None and "answers" not in frame.f_locals:
    frame = frame.f_back
answers = frame.f_locals["answers"]  # of the worker's loop: what it calls for each request
release = answers[next(kind for kind in answers if kind.__name__ == "Release")]


def release_and_copy(request):
    said = release(request)
    for out in used:
        out[n:].copy_(tables[-1].detach())
    pool.extend(used)
    used.clear()
    return said


answers[next(kind for kind in answers if kind.__name__ == "Release")] = release_and_copy


class ModelNew(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.table = torch.nn.Parameter(torch.randn(n, n))
        pool.clear()

    def forward(self, x):
        if not tables or tables[-1] is not self.table:
            tables[:] = [self.table]
            pool.clear()
        out = pool.pop() if pool else None
        if out is None:
            out = torch.empty(2 * n, n, device=x.device)
            out[n:].copy_(self.table.detach())
        out[:n].copy_(x)
        used.append(out)
        return out.view(out.shape)
