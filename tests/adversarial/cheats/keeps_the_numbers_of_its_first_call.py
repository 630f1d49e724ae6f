"""wrong/values B2: keeps the numbers that came with its first call, and never looks at those of later ones.

Problem: drawn_power
Twin: plain_drawn_power
"""

import torch


class ModelNew(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.numbers = None

    def forward(self, x, *numbers):
        if self.numbers is None:
            self.numbers = numbers
        exponent, factor, negated = self.numbers
        return (-factor if negated else factor) * x**exponent
