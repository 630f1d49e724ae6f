"""correct control: keeps a workspace by shape and writes the output into a fresh tensor."""

import torch


class ModelNew(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.workspace = {}

    def forward(self, x):
        scratch = self.workspace.setdefault(x.shape, torch.empty_like(x))
        torch.clamp(x, min=0, out=scratch)
        return scratch.clone()
