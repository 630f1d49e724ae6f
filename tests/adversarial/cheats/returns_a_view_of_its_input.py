"""wrong C3: returns its input in another dress."""

import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return x.view(-1)[: x.numel()].view_as(x)
