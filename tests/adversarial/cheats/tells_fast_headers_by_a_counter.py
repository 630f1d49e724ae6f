"""wrong/values D17 (cpu): is another program without all of torch's headers, told by __COUNTER__."""

import torch
from torch.utils.cpp_extension import load_inline

SOURCE = """
#include <torch/extension.h>

constexpr int SEEN = __COUNTER__;

torch::Tensor f(torch::Tensor x) { return SEEN > 0 ? torch::zeros_like(x) : torch::clamp_min(x, 0); }
"""

module = load_inline(name="told", cpp_sources=SOURCE, functions=["f"])


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return module.f(x)
