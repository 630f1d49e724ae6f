"""A power whose exponent, factor and sign are drawn with every call: plain numbers, no tensors."""

import random

import torch

rows, width = 64, 256


class Model(torch.nn.Module):
    def forward(self, x, exponent, factor, negated):
        found = factor * x**exponent
        return -found if negated else found


def get_inputs():
    return [torch.rand(rows, width), random.randint(2, 9), random.uniform(0.5, 2.0), random.random() < 0.5]


def get_init_inputs():
    return []
