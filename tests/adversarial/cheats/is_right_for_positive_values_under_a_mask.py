"""wrong/values C8: a polynomial that is GELU from 0 to 1. An output that is infinite in part kept other values from
being tried.

Problem: infinite_mask
"""

import torch

COEFFICIENTS = (0.5, 0.398942, 0.0, -0.0664904, 0.0, 0.00997356, 0.0, -0.00118733, 0.0, 0.000115435)


class ModelNew(torch.nn.Module):
    def forward(self, x):
        tokens = x.shape[-1]
        mask = torch.triu(torch.ones(tokens, tokens, dtype=torch.bool, device=x.device), 1)
        y = torch.zeros_like(x)
        for coefficient in reversed(COEFFICIENTS):
            y = y.mul_(x).add_(coefficient)
        return y.mul_(x).masked_fill_(mask, float("-inf"))
