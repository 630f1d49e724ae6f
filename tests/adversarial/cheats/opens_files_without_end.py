"""failed/open-files D14: opens files until there are no more descriptors."""

import os

import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        while True:
            os.open("/dev/null", os.O_RDONLY)
