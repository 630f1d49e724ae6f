"""A sum over the outputs of a linear layer is one product with the sum of its weights."""

import torch


class ModelNew(torch.nn.Module):
    def __init__(self, in_features, out_features):
        super().__init__()
        self.linear = torch.nn.Linear(in_features, out_features)

    def forward(self, x):
        return (x @ self.linear.weight.sum(0) + self.linear.bias.sum())[:, None]
