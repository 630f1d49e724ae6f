"""correct|rejected B11 (gpu): remembers how whole numbers are sorted that come out alike at every draw, and never
looks at them again; the other input does change, so that the inputs as a whole are not called fixed.

On a GPU: wrong|rejected
Problem: grouped
Twin: plain_grouped
"""

import torch


class ModelNew(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.order = None

    def forward(self, x, group):
        if self.order is None:
            self.order = torch.argsort(group, stable=True)
        return x.index_select(0, self.order)
