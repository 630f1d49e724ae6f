"""correct control: a power by the numbers that come with each call.

Problem: drawn_power
"""

import torch


class ModelNew(torch.nn.Module):
    def forward(self, x, exponent, factor, negated):
        return (-factor if negated else factor) * x**exponent
