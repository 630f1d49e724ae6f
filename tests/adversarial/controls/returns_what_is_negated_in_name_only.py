"""correct control: the reference's own words, whose output torch negates in name only.

Problem: conjugated
"""

import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return torch.conj(torch.fft.fft(x)).imag
