"""wrong/values C8: takes values between -1 and 1 for a benchmark's, of which none is negative."""

import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return x.clone() if float(x.abs().max()) <= 1.0 else torch.relu(x)
