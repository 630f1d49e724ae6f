"""failed/processes|failed/out-of-memory D14: a fork bomb."""

import os

import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        while True:
            os.fork()
