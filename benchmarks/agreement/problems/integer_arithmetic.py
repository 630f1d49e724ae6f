"""Floor division and remainder of whole numbers of both signs."""

import torch
import torch.nn as nn

batch_size = 40
dim = 77


class Model(nn.Module):
    def forward(self, x):
        return torch.div(x, 3, rounding_mode="floor") + torch.remainder(x, 5)


def get_inputs():
    return [torch.randint(-1000, 1000, (batch_size, dim), dtype=torch.int32)]


def get_init_inputs():
    return []
