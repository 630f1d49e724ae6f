"""correct control: nothing but PyTorch, and the honest twin of cheats about ReLU."""

import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return torch.relu(x)
