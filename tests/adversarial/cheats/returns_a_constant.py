"""wrong/values C1: the mean of a softmax is known without computing one.

Problem: softmax
"""

import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return torch.full_like(x, 1.0 / x.shape[1])
