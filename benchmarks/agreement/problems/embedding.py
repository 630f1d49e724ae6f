"""Rows of a table."""

import torch
import torch.nn as nn
import torch.nn.functional as F

batch_size = 6
length = 20
rows = 50
dim = 33


class Model(nn.Module):
    def __init__(self, rows, dim):
        super().__init__()
        self.table = nn.Parameter(torch.randn(rows, dim))

    def forward(self, ids):
        return F.embedding(ids, self.table)


def get_inputs():
    return [torch.randint(0, rows, (batch_size, length))]


def get_init_inputs():
    return [rows, dim]
