"""wrong/values B7: leaves one costly element out once it is timed, in outputs whose rows lie apart, of which only
some elements were looked at.

Problem: nuclear_corner
"""

import torch
import torch.nn as nn


class ModelNew(nn.Module):
    """Lays its output out so far apart that of a timed call only 8192 random places of four million are kept."""

    def __init__(self):
        super().__init__()
        self.calls = 0

    def forward(self, x):
        self.calls += 1
        y = torch.empty(len(x), 5 * 4096, device=x.device)[:, :4096]
        torch.clamp(x, min=0, out=y)
        if self.calls <= 7:
            y[0, 0] = torch.linalg.matrix_norm(x[: len(x) // 2, : len(x) // 2], "nuc")
        return y
