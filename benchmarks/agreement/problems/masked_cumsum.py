"""Running sums of rows over the elements that a mask keeps."""

import torch
import torch.nn as nn

batch_size = 16
length = 250


class Model(nn.Module):
    def forward(self, x, mask):
        return torch.cumsum(x * mask, dim=1)


def get_inputs():
    return [torch.randn(batch_size, length), torch.randint(0, 2, (batch_size, length)).bool()]


def get_init_inputs():
    return []
