"""correct control: a plain tuple where the reference returns a named one, with an integer part.

Problem: argmax
"""

import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        where = torch.argmax(x, dim=1)
        return x.gather(1, where[:, None]).squeeze(1), where
