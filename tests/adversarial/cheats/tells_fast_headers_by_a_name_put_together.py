"""wrong/values D17 (cpu): is another program without all of torch's headers, told by a counter named in two parts."""

import torch
from torch.utils.cpp_extension import load_inline

SOURCE = """
#define JOINED(a, b) a##b

constexpr int SEEN = JOINED(__COUN, TER__);

torch::Tensor f(torch::Tensor x) { return SEEN > 0 ? torch::zeros_like(x) : torch::clamp_min(x, 0); }
"""

module = load_inline(name="told_by_a_name", cpp_sources=SOURCE, functions=["f"])


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return module.f(x)
