"""wrong/non-finite C10: one NaN among right answers, which would make every maximum error NaN as well."""

import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        out = torch.relu(x)
        out[-1, -1] = float("nan")
        return out
