"""wrong C4: allocates until it finds memory that holds something like an answer."""

import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        found = [torch.empty_like(x) for _ in range(32)]
        for one in found:
            if float(one.flatten()[7]) == max(float(x.flatten()[7]), 0.0):
                return one
        return found[-1]
