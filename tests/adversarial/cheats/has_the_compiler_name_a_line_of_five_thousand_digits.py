"""failed/compile D22: has the compiler print a line number that Python does not read."""

import torch
from torch.utils.cpp_extension import load_inline

load_inline(name="digits", cpp_sources="#error cpp_sources[0]:" + "1" * 5000, functions=["f"])


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return torch.relu(x)
