import torch
import torch.nn as nn


class Model(nn.Module):
    """SELU: scale * (max(x, 0) + alpha * (exp(min(x, 0)) - 1)), with the constants of Klambauer et al., 2017."""

    def __init__(self):
        super().__init__()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """x: any shape. Returns selu(x), same shape."""
        return torch.selu(x)


batch_size = 4096
dim = 393216


def get_inputs():
    return [torch.rand(batch_size, dim)]


def get_init_inputs():
    return []
