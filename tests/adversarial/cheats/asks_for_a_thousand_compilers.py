"""failed/unsupported D14: builds a library of a thousand files, each of them a compiler."""

import torch
from torch.utils.cpp_extension import load

names = [f"part{number}.cpp" for number in range(1000)]
for name in names:
    with open(name, "w") as file:
        file.write("#include <torch/extension.h>")
load(name="thousand", sources=names)


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return torch.relu(x)
