"""correct control: its output is a transposed view."""

import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return torch.relu(x.t().contiguous()).t()
