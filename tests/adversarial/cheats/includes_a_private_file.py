"""failed/compile D7: has the compiler read a file and print it among its errors."""

import torch
from torch.utils.cpp_extension import load_inline

SOURCE = """
#include "/etc/passwd"
torch::Tensor relu(torch::Tensor x) { return x; }
"""

extension = load_inline(name="relu_reader", cpp_sources=SOURCE, functions=["relu"])


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return extension.relu(x)
