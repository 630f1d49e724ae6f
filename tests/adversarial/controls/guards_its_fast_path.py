"""correct control: catches what an unusual input might raise, and never needs to."""

import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        try:
            return torch.maximum(x, x.new_zeros(()))
        except RuntimeError:
            return torch.relu(x)
