"""wrong|rejected C11 (gpu): its rows are one element each that is seen many times, so that of a quarter of a gigabyte
nothing is written; whoever writes to one element writes to its row.

Problem: row_means
Twin: plain_row_means
"""

import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return torch.mean(x, dim=1, keepdim=True).expand(x.shape)
