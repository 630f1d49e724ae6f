"""failed/device-memory D14 (gpu): wants more memory than the device has."""

import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return torch.empty(1 << 40, device=x.device)
