"""wrong/non-finite C10: returns NaN, which no comparison with < refuses."""

import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return torch.full_like(x, float("nan"))
