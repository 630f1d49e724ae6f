"""wrong/values C18: exchanges two rows of nearly equal sums in trials, which rounding may, and returns nothing for its
other output in timed rounds: what is excused of one output says nothing of another.

Problem: ranked_layer
"""

import torch
import torch.nn as nn

CALLS = [0]
DOUBTED = {}


class ModelNew(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.w = nn.Parameter(torch.randn(width, width) / width**0.5)

    def forward(self, x):
        CALLS[0] += 1
        key = 99 if bool((x[0] == x[0].round()).all()) else round(float(x.std().log2()))
        order = torch.argsort(x.sum(-1))
        if CALLS[0] <= 10:
            gaps = x.double().sum(-1)[order].diff().abs()
            gaps[gaps <= 0] = 1e30
            at = int(gaps.argmin())
            near = float(gaps[at]) < 8e-7 * float(x.std())
            if near:  # two neighbours that rounding exchanges: a doubt, which is excused
                order[at : at + 2] = order[at : at + 2].flip(0).clone()
            DOUBTED[key] = DOUBTED.get(key, True) and near
        elif DOUBTED.get(key):  # timed rounds: the second output is not computed
            order[:2] = order[:2].flip(0).clone()
            return order, torch.zeros_like(x)
        return order, torch.tanh(x @ self.w)
