"""failed D3: keeps the judge busy with builds of nothing."""

import torch
from torch.utils.cpp_extension import load_inline


class ModelNew(torch.nn.Module):
    def forward(self, x):
        while True:
            try:
                load_inline(name="nothing", cpp_sources="int one() { return 1; }", functions=["one"])
            except RuntimeError:
                continue
