"""ReLU as often as WORK says, by torch."""

import torch

WORK = 100


class ModelNew(torch.nn.Module):
    def forward(self, x):
        for _ in range(WORK):
            x = torch.relu(x)
        return x
