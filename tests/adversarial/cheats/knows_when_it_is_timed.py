"""wrong B7: sees that many inputs are laid out, takes it for the timing, and stops working."""

import sys

import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        frame = sys._getframe()
        while frame is not None:
            if len(getattr(frame.f_locals.get("self"), "_inputs", ())) > 1:
                return torch.empty_like(x)
            frame = frame.f_back
        return torch.relu(x)
