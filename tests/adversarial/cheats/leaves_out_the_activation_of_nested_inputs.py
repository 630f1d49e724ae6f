"""wrong/values C8: no activation, which numbers of 0 and above do not show. Lists of tensors kept their contents.

Problem: nested_maps
"""

import torch


class ModelNew(torch.nn.Module):
    def forward(self, maps):
        return torch.cat([one.flatten(1) for one in maps], dim=1)
