"""Softmax online: the maximum and the sum are kept while going through the columns in pieces."""

import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        most = x.new_full((x.shape[0], 1), float("-inf"))
        total = torch.zeros_like(most)
        for piece in x.split(8192, dim=1):
            larger = torch.maximum(most, piece.amax(1, keepdim=True))
            total = total * (most - larger).exp() + (piece - larger).exp_().sum(1, keepdim=True)
            most = larger
        return (x - most).exp_().div_(total)
