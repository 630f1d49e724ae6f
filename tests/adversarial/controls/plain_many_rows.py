"""correct control: as written. Of more tensors than a page has room for nothing is read where calls come one by one.

Problem: many_rows
"""

import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return [torch.relu(row) for row in x.unbind(0)]
