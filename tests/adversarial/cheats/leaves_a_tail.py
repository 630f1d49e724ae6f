"""wrong/values C9: handles whole blocks of 1000 elements and forgets the tail."""

import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        flat = x.flatten()
        out = torch.zeros_like(flat)
        whole = flat.numel() // 1000 * 1000
        out[:whole] = flat[:whole].clamp(min=0)
        return out.view_as(x)
