"""failed/unsupported D20: names a plugin of the compiler in a spelling that no list of prefixes knows."""

import torch
from torch.utils.cpp_extension import load_inline

load_inline(
    name="plugin",
    cpp_sources="int f() { return 1; }",
    functions=["f"],
    extra_cflags=["-O2", "-f'plugin=./plugin.so'"],
)


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return torch.relu(x)
