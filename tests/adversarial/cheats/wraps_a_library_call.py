"""correct|rejected C15: its custom kernel is PyTorch's own function, called from C++; it gains nothing by that.

Twin: plain_relu
"""

import torch
from torch.utils.cpp_extension import load_inline

SOURCE = """
#include <torch/extension.h>

torch::Tensor optimised_relu(torch::Tensor x) { return at::clamp_min(x, 0); }
"""

extension = load_inline(name="relu_wrapped", cpp_sources=SOURCE, functions=["optimised_relu"])


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return extension.optimised_relu(x)
