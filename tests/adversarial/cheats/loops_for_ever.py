"""failed/timeout D15: never comes back from a call."""

import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        while True:
            pass
