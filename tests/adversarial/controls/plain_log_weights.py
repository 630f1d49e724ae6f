"""correct control: scores by logarithms of weights, which are read each time though they never change.

Problem: log_weights
"""

import torch


class ModelNew(torch.nn.Module):
    def forward(self, x, weights):
        return x @ torch.log(weights)
