"""correct A5 (gpu): every event says that a nanosecond has passed; the judge asks none of them.

On a GPU: correct|wrong|rejected
Problem: matmul
Twin: plain_matmul
"""

import torch

torch.cuda.Event.elapsed_time = lambda self, other: 1e-6
torch.cuda.Event.record = lambda self, stream=None: None
torch.cuda.Event.synchronize = lambda self: None


class ModelNew(torch.nn.Module):
    def forward(self, a, b):
        return torch.mm(a, b)
