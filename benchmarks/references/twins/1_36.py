"""RMS norm: squares summed channel by channel, then one product with the reciprocal root."""

import torch


class ModelNew(torch.nn.Module):
    def __init__(self, num_features, eps=1e-5):
        super().__init__()
        self.eps = eps

    def forward(self, x):
        total = torch.zeros_like(x[:, :1])
        for channel in reversed(range(x.shape[1])):
            total.addcmul_(x[:, channel : channel + 1], x[:, channel : channel + 1])
        return x * torch.rsqrt(total.div_(x.shape[1]).add_(self.eps))
