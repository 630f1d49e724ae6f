"""wrong/values C2: numbers of 14 bits after the point, which show on small positive values alone.

Problem: relu
"""

import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return torch.round(torch.relu(x) * 16384.0) / 16384.0
