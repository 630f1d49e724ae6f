"""failed/device-memory|correct D14 (gpu): is right, and keeps nearly all memory of the device for itself."""

import torch


class ModelNew(torch.nn.Module):
    def __init__(self):
        super().__init__()
        free, _ = torch.cuda.mem_get_info()
        self.hoard = torch.empty(free - (256 << 20), dtype=torch.uint8, device="cuda")

    def forward(self, x):
        return torch.relu(x)
