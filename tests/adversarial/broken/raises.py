"""failed/exception: raises in forward."""

import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        raise ValueError("no such kernel")
