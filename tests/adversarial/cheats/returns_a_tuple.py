"""wrong/structure C11: wraps the output in a tuple."""

import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return (torch.relu(x),)
