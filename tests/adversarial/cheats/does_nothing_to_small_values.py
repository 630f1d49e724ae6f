"""wrong/values C2: leaves out whatever an absolute tolerance of 0.01 would not notice."""

import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return torch.where(x.abs() < 0.01, torch.zeros_like(x), torch.relu(x))
