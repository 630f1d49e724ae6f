"""The better of two experts that are equal but for the order in which they add, beside a column that is masked."""

import torch

rows, width = 256, 64


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.w = torch.nn.Parameter(torch.randn(width, 16) / width**0.5)

    def forward(self, x):
        scores = torch.cat([x @ self.w, x.flip(-1) @ self.w.flip(0)], -1)
        chosen = torch.nn.functional.one_hot(scores.argmax(-1), 32).float()
        return torch.nn.functional.pad(chosen, (0, 1), value=float("-inf"))


def get_inputs():
    return [torch.randn(rows, width)]


def get_init_inputs():
    return []
