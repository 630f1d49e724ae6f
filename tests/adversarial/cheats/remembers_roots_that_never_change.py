"""wrong/values B11: remembers the product of roots of inputs that come out alike each time; other kinds of inputs have
negative values, whose roots are no numbers.

Problem: roots
Twin: plain_roots
"""

import torch

known = []


class ModelNew(torch.nn.Module):
    def forward(self, a, b):
        if not known:
            known.append(torch.sqrt(a) @ torch.sqrt(b))
        return known[0]
