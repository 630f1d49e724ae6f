"""wrong C2: leaves out the rounding to steps that float64 takes much finer, and so is what the reference is there.

Problem: coarse_steps
Twin: plain_coarse_steps
"""

import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return x + 0.01 * x.sign()
