"""correct control: draws its random numbers as the reference does, for every call of a round.

Problem: dropout
"""

import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return torch.nn.functional.dropout(x.clamp_min(0), 0.25, training=True)
