"""failed/crash: reads address zero."""

import ctypes

import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        ctypes.string_at(0)
        return x
