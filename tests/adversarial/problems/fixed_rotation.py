import torch
import torch.nn as nn


class Model(nn.Module):
    """Signals carried through many steps of a complex transition."""

    def forward(self, x, step):
        return (torch.linalg.matrix_power(step, 63) @ x.to(step.dtype)).real.contiguous()


def get_inputs():
    grid = torch.arange(192)
    return [torch.randn(192, 16), torch.polar(torch.full((192, 192), 192**-0.5), torch.outer(grid, grid) * (2 * torch.pi / 192))]


def get_init_inputs():
    return []
