"""failed/exception: raises an error whose text UTF-8 cannot say."""

import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        raise ValueError("no kernel of the name \udcff")
