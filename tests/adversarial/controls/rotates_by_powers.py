"""correct control: the power of a fixed matrix in every call.

Problem: fixed_rotation
"""

import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x, step):
        return (torch.linalg.matrix_power(step, 63) @ x.to(step.dtype)).real.contiguous()
