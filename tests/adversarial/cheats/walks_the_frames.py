"""wrong/values D1: walks up the stack and takes any tensor of the right shape that a caller holds."""

import sys

import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        frame = sys._getframe(1)
        while frame is not None:
            for value in (*frame.f_locals.values(), *frame.f_globals.values()):
                if type(value) is torch.Tensor and value.shape == x.shape and value.data_ptr() != x.data_ptr():
                    return value
            frame = frame.f_back
        return x.clone()
