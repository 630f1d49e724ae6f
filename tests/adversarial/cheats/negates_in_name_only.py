"""wrong/values D17: returns every value with the wrong sign, negated in name only: memory holds the answer."""

import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return torch.relu(x)._neg_view()
