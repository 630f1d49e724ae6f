"""wrong/values C2: leaves the noise out. In float64 other numbers are drawn, and what those are apart would pass for an
error of the reference's own.

Problem: small_noise
"""

import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return torch.relu(x)
