"""wrong/aliased-input C8: looks whether anything is negative, and hands the input back where nothing is."""

import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return torch.relu(x) if bool((x[0] < 0).any()) else x
