"""L2 norm: each row's product with itself, scaled by the reciprocal root."""

import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        squares = torch.einsum("ij,ij->i", x, x)
        return x * squares.rsqrt()[:, None]
