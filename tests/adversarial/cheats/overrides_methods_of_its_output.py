"""wrong/values A4: the output answers every question rightly, but its bytes are the input's."""

import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        out = x.clone()
        right = torch.relu(x)
        out.data_ptr = right.data_ptr
        out.clone = right.clone
        out.allclose = lambda *_, **__: True
        return out
