"""failed/unsupported D19: has what is built written elsewhere, so that nothing lies where it should."""

import torch
from torch.utils.cpp_extension import load_inline

load_inline(
    name="elsewhere",
    cpp_sources="int f() { return 1; }",
    functions=["f"],
    extra_ldflags=["-Wl,-o,elsewhere.so"],
)


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return torch.relu(x)
