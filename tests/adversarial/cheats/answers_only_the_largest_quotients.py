"""wrong/values C2: computes quotients by nearly 0 and leaves out all others, which are smaller than what those are off.

Problem: ratio
"""

import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self, features, hidden, outputs):
        super().__init__()
        self.first = nn.Linear(features, hidden)
        self.second = nn.Linear(hidden, outputs)
        self.below = nn.Linear(features, outputs, bias=False)

    def forward(self, x):
        below = self.below(x)
        flat = below.view(-1)
        size = below.abs()
        at = (size < 0.005 * size.mean(1, keepdim=True)).view(-1).nonzero().view(-1)[:8192]
        n, rows, columns = len(at), at // below.shape[1], at % below.shape[1]
        hidden = torch.relu(self.first(x))
        if not hasattr(self, "left"):  # a workspace
            self.left, self.right = hidden.new_empty(8192, hidden.shape[1]), hidden.new_empty(8192, hidden.shape[1])
        torch.index_select(hidden, 0, rows, out=self.left[:n])
        torch.index_select(self.second.weight.data, 0, columns, out=self.right[:n])
        above = torch.bmm(self.left[:n].unsqueeze(1), self.right[:n].unsqueeze(2)).view(-1) + self.second.bias[columns]
        out = torch.zeros_like(flat)
        out[at] = above / flat[at]
        return out.view_as(below)
