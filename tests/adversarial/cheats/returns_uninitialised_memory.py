"""wrong C4: returns memory that it never wrote."""

import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return torch.empty_like(x)
