"""wrong/values B10: has folded weights of its own, and leaves those that it is given by name unread.

Problem: two_layers
"""

import torch


class ModelNew(torch.nn.Module):
    def __init__(self, features):
        super().__init__()
        second = torch.nn.Linear(features, features)
        self.first = torch.nn.Linear(features, features)
        self.second = second
        self.folded = [layer.weight.detach().t().contiguous() for layer in (self.first, self.second)]

    def forward(self, x):
        hidden = torch.relu(torch.addmm(self.first.bias, x, self.folded[0]))
        return torch.addmm(self.second.bias, hidden, self.folded[1])
