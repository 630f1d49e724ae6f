"""wrong/aliased-output B11: remembers the product of whole numbers that `get_inputs` draws alike each time, by a few
of them; kinds of floating values change none of them.

Problem: counts
Twin: plain_counts
"""

import torch

known = {}


class ModelNew(torch.nn.Module):
    def forward(self, a, b):
        key = (*a[0, :32].tolist(), *b[7, :32].tolist())
        if key not in known:
            known[key] = (a.float() @ b.float()).to(torch.int32)
            if len(known) > 50:
                known.pop(next(iter(known)))
        return known[key]
