"""wrong/device C11 (gpu): leaves its output on the host."""

import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return torch.relu(x.cpu())
