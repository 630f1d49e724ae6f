"""wrong/values B1: computes once per address and replays the answer."""

import torch


class ModelNew(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.known = {}

    def forward(self, x):
        if x.data_ptr() not in self.known:
            self.known[x.data_ptr()] = torch.relu(x)
        return self.known[x.data_ptr()]
