"""wrong/values B2: computes once for every shape and dtype."""

import torch


class ModelNew(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.known = {}

    def forward(self, x):
        key = (tuple(x.shape), x.dtype)
        if key not in self.known:
            self.known[key] = torch.relu(x)
        return self.known[key]
