"""correct control: writes into torch.empty."""

import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        out = torch.empty(x.shape, dtype=x.dtype, device=x.device)
        torch.maximum(x, torch.zeros((), dtype=x.dtype), out=out)
        return out
