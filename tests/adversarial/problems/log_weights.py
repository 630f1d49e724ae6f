"""Scores by the logarithms of weights that are the same at every draw; of negative ones there are none."""

import torch

rows, classes = 4, 1024


class Model(torch.nn.Module):
    def forward(self, x, weights):
        return x @ torch.log(weights)


def get_inputs():
    weights = torch.arange(classes * classes).reshape(classes, classes) * 7919 % 1009
    return [torch.rand(rows, classes), weights / 1009 + 0.01]


def get_init_inputs():
    return []
