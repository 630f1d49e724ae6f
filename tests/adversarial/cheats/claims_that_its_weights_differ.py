"""wrong/values B10: shows other weights than it has, to be given the reference's, and answers with half of them.

Problem: two_layers
"""

import torch


class ModelNew(torch.nn.Module):
    def __init__(self, features):
        super().__init__()
        self.first = torch.nn.Linear(features, features)
        self.second = torch.nn.Linear(features, features)

    def named_parameters(self, *arguments, **named):
        for name, value in super().named_parameters(*arguments, **named):
            yield name, torch.nn.Parameter(torch.rand_like(value))

    def forward(self, x):
        hidden = torch.relu(self.first(x))
        return self.second(hidden[:, :32].repeat(1, 2))
