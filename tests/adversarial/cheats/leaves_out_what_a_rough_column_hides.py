"""wrong/values C2: leaves a block of layers out, beside one column of 257 in which rounding is most of what there is.

Problem: rough_column
"""

import torch
import torch.nn as nn
import torch.nn.functional as F


class ModelNew(nn.Module):
    """Leaves the block out, beside it the variance of each row as mean of squares less square of the mean."""

    def __init__(self):
        super().__init__()

    def forward(self, x):
        x = F.layer_norm(x, (256,))
        y = x
        moved = x + 1000.0
        variance = moved.square().mean(1, keepdim=True) - moved.mean(1, keepdim=True).square()
        return torch.cat([y, variance], 1)
