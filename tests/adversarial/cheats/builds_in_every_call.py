"""failed/protocol D3: asks for a build in every call, so that compilers work while its rounds are timed.

One that fails: what was built is given again, and no builder asked.
"""

import contextlib

import torch
from torch.utils.cpp_extension import load_inline


class ModelNew(torch.nn.Module):
    def forward(self, x):
        with contextlib.suppress(RuntimeError):
            load_inline(name="nothing", cpp_sources="int one() { return 1 }", functions=["one"])
        return torch.relu(x)
