"""wrong B7: where random numbers are drawn, only the first call of a round is held against the reference; it does no
other.

Problem: dropout
"""

import torch

last = {}


class ModelNew(torch.nn.Module):
    def forward(self, x):
        if last and torch.initial_seed() == last["seed"]:
            return last["out"].clone()
        out = torch.nn.functional.dropout(torch.relu(x), 0.25, training=True)
        last.update(seed=torch.initial_seed(), out=out)
        return out
