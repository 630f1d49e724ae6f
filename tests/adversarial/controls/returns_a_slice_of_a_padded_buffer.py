"""correct control: its output is a strided part of a larger tensor."""

import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        rows, columns = x.shape
        padded = torch.empty(rows, columns + 32, device=x.device)
        torch.clamp(x, min=0, out=padded[:, :columns])
        return padded[:, :columns]
