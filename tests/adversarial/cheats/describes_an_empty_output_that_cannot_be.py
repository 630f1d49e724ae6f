"""failed/protocol D14: an output of no elements and more rows than can be counted, which torch
cannot make."""

import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return torch.empty(0, device=x.device).as_strided((0, 2**62, 2**62), (1, 1, 1))
