"""How many energies fall on each level: rounding moves a few of thousands to the next one."""

import torch
from torch import nn

frames = 256
bands = 128


class Model(nn.Module):
    def __init__(self, bands):
        super().__init__()
        self.filters = nn.Parameter(torch.rand(bands, bands))

    def forward(self, power):
        energy = torch.log((power @ self.filters).abs() + 1)
        level = torch.floor((energy - 3.40) * 99.0).clamp(0, 9).long()
        return torch.bincount(level.view(-1), minlength=16)


def get_inputs():
    return [torch.rand(frames, bands)]


def get_init_inputs():
    return [bands]
