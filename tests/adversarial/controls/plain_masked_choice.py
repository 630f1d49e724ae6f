"""correct control: chooses one of two experts that are equal but for the order in which they add.

Problem: masked_choice
"""

import torch
from torch.nn.functional import one_hot, pad


class ModelNew(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.w = torch.nn.Parameter(torch.randn(64, 16) / 64**0.5)

    def forward(self, x):
        products = (x @ self.w, x.flip(-1) @ self.w.flip(0))
        scores = torch.cat([products[0], products[1]], -1)
        return pad(one_hot(scores.argmax(-1), 32).float(), (0, 1), value=float("-inf"))
