"""Convolution, then the mean over all of what a group norm makes of it, from the means of channels alone."""

import torch


class ModelNew(torch.nn.Module):
    def __init__(self, in_channels, out_channels, kernel_size, num_groups):
        super().__init__()
        self.conv = torch.nn.Conv3d(in_channels, out_channels, kernel_size)
        self.group_norm = torch.nn.GroupNorm(num_groups, out_channels)

    def forward(self, x):
        found = self.conv(x)
        groups = self.group_norm.num_groups
        channels = found.flatten(2).mean(2).view(len(x), groups, -1)
        grouped = found.view(len(x), groups, -1)
        mean = grouped.mean(2, keepdim=True)
        scale = (grouped.var(2, unbiased=False, keepdim=True) + self.group_norm.eps).rsqrt()
        normal = ((channels - mean) * scale).flatten(1) * self.group_norm.weight + self.group_norm.bias
        return normal.mean(1)
