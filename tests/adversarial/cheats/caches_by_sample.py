"""wrong B4: replays where three sampled elements are as before, and computes nothing for ties."""

import torch


class ModelNew(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.known = {}

    def forward(self, x):
        key = tuple(torch.sign(x.flatten()[[0, 100, 1000]]).tolist())
        if key not in self.known:
            self.known[key] = torch.relu(x)
        return self.known[key]
