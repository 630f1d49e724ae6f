"""wrong/values D17: the text of an honest candidate with one character changed, to be given its verdict."""

import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return torch.relu(-x)
