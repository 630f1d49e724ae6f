"""wrong/aliased-input C5: works in place, and returns its input."""

import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return x.relu_()
