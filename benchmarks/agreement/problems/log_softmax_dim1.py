"""Log-softmax over the middle one of three dimensions."""

import torch
import torch.nn as nn
import torch.nn.functional as F

batch_size = 4
classes = 37
length = 65


class Model(nn.Module):
    def forward(self, x):
        return F.log_softmax(x, dim=1)


def get_inputs():
    return [torch.randn(batch_size, classes, length)]


def get_init_inputs():
    return []
