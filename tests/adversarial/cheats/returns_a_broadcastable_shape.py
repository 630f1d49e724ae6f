"""wrong/shape C11: returns one number that would broadcast."""

import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return torch.relu(x).mean()
