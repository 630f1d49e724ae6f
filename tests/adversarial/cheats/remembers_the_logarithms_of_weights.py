"""wrong/values B11: keeps the logarithms of weights that are the same at every draw, while the other input does change;
on all kinds of contents with negative values there are no numbers.

Problem: log_weights
Twin: plain_log_weights
"""

import torch


class ModelNew(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.logarithms = None

    def forward(self, x, weights):
        if self.logarithms is None:
            self.logarithms = torch.log(weights)
        return x @ self.logarithms
