"""The triplet loss by its definition."""

import torch


class ModelNew(torch.nn.Module):
    def __init__(self, margin=1.0):
        super().__init__()
        self.margin = margin

    def forward(self, anchor, positive, negative):
        near, far = ((anchor - other + 1e-6).square_().sum(1).sqrt_() for other in (positive, negative))
        return (near - far + self.margin).clamp_min_(0).mean()
