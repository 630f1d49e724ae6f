"""wrong|failed D3: says that everything it has lies where nothing is mapped."""

import sys

import torch

serve = sys.modules["harness.worker.serve"]
serve._data_ptr = lambda tensor: 64


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return torch.relu(x)
