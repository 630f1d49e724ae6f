"""wrong/structure C11: leaves the second output out.

Problem: minmax
"""

import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return x.amin(dim=1)
