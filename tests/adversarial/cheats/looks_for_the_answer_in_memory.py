"""wrong/values D1: takes any tensor of the right shape that the garbage collector knows."""

import gc

import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        for found in gc.get_objects():
            if type(found) is torch.Tensor and found.shape == x.shape and found.data_ptr() != x.data_ptr():
                return found
        return x.clone()
