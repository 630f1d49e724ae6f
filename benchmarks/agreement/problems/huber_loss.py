"""Smooth L1 loss."""

import torch
import torch.nn as nn
import torch.nn.functional as F

batch_size = 50
dim = 131


class Model(nn.Module):
    def forward(self, predictions, targets):
        return F.smooth_l1_loss(predictions, targets)


def get_inputs():
    return [torch.randn(batch_size, dim), torch.randn(batch_size, dim)]


def get_init_inputs():
    return []
