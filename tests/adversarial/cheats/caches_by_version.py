"""wrong/values B3: replays while the version counter stands still."""

import torch


class ModelNew(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.known = {}

    def forward(self, x):
        key = (x.data_ptr(), x._version)
        if key not in self.known:
            self.known[key] = torch.relu(x)
        return self.known[key]
