"""failed/disk|failed/timeout D14: writes until the disk is full."""

import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        piece = b"x" * (64 << 20)
        for number in range(1000):
            with open(f"piece-{number}", "wb") as file:
                file.write(piece)
        return torch.relu(x)
