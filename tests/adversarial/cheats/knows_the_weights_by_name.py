"""wrong/values B2: draws its weights otherwise, and answers the first call under new weights for all that follow.

Problem: two_layers
"""

import torch


class ModelNew(torch.nn.Module):
    def __init__(self, features):
        super().__init__()
        second = torch.nn.Linear(features, features)
        self.first = torch.nn.Linear(features, features)
        self.second = second
        self.answer = None

    def forward(self, x):
        if self.answer is None:
            self.answer = self.second(torch.relu(self.first(x)))
        return self.answer.clone()
