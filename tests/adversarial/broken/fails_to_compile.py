"""failed/compile: C++ with an undeclared name in it."""

import torch
from torch.utils.cpp_extension import load_inline

SOURCE = """
torch::Tensor relu(torch::Tensor x) {
    return torch::relu(y);
}
"""

extension = load_inline(name="relu_cpu", cpp_sources=SOURCE, functions=["relu"])


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return extension.relu(x)
