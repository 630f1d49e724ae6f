"""wrong/values B11: keeps what it worked out of a complex input that is the same each time.

Problem: fixed_rotation
"""

import torch
import torch.nn as nn


class ModelNew(nn.Module):
    """Remembers the power of the first transition that it saw."""

    def __init__(self):
        super().__init__()
        self.power = None

    def forward(self, x, step):
        if self.power is None:
            self.power = torch.linalg.matrix_power(step, 63)
        return (self.power @ x.to(step.dtype)).real.contiguous()
