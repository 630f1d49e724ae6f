"""wrong/values C18: exchanges the places of two rows whose sums are far apart, where rounding decides on so many others
that some elements which no sample moved are forgiven: only where further samples say the same.

Problem: ranked_layer
"""

import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.w = nn.Parameter(torch.randn(width, width) / width**0.5)

    def forward(self, x):
        order = torch.argsort(x.sum(-1))
        if bool((x[0] != x[0].round()).any()):  # of whole numbers sums are exact, and nothing is forgiven
            order[[100, -100]] = order[[-100, 100]]
        return order, torch.tanh(x @ self.w)
