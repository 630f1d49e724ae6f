"""wrong/values C18: chooses both of two experts, of which rounding says which is the better, beside a masked column.

Problem: masked_choice
Twin: plain_masked_choice
"""

import torch
from torch.nn.functional import one_hot, pad


class ModelNew(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.w = torch.nn.Parameter(torch.randn(64, 16) / 64**0.5)

    def forward(self, x):
        best = (x @ self.w).argmax(-1)
        return pad((one_hot(best, 32) + one_hot(best + 16, 32)).float(), (0, 1), value=float("-inf"))
