"""wrong/values B2: has a number in its source that `get_inputs` draws.

Problem: drawn_power
"""

import torch


class ModelNew(torch.nn.Module):
    def forward(self, x, exponent, factor, negated):
        found = factor * x * x * x
        return -found if negated else found
