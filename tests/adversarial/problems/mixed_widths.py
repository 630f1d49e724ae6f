"""Outputs of complex numbers, bools, integers and a single number, and an input that is written to."""

import torch


class Model(torch.nn.Module):
    def forward(self, x, y):
        y.add_(x)
        return [torch.fft.fft(x).conj(), x > 0, x.sum(), (x * 4).long(), x.T, y]


def get_inputs():
    return [torch.randn(16, 64), torch.randn(16, 64)]


def get_init_inputs():
    return []
