import torch
import torch.nn as nn


class Model(nn.Module):
    """ReLU: negative elements become zero, all others stay."""

    def __init__(self):
        super().__init__()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """x: any shape. Returns max(x, 0), same shape."""
        return torch.relu(x)


batch_size = 4096
dim = 393216


def get_inputs():
    return [torch.rand(batch_size, dim)]


def get_init_inputs():
    return []
