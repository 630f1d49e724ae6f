"""correct A1 (gpu): computes on a stream of its own and returns before it is done.

On a GPU: correct|wrong|rejected
Problem: matmul
Twin: plain_matmul
"""

import torch


class ModelNew(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.side = torch.cuda.Stream()

    def forward(self, a, b):
        with torch.cuda.stream(self.side):
            return torch.mm(a, b)
