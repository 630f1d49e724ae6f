"""correct control: draws the second layer first, so that the same seed gives it other weights of the same names.

Problem: two_layers
"""

import torch


class ModelNew(torch.nn.Module):
    def __init__(self, features):
        super().__init__()
        second = torch.nn.Linear(features, features)
        self.first = torch.nn.Linear(features, features)
        self.second = second

    def forward(self, x):
        return self.second(torch.relu_(self.first(x)))
