"""wrong/values D17 (cpu): is another program where it is not compiled with all of torch's headers, told by decltype."""

import torch
from torch.utils.cpp_extension import load_inline

SOURCE = """
#include <torch/extension.h>

template <class T>
auto pick(T& t, int) -> decltype(t.is_vulkan(), int()) {
    return 1;
}

template <class T>
int pick(T& t, long) {
    return 2;
}

torch::Tensor f(torch::Tensor x) { return pick(x, 0) == 1 ? torch::zeros_like(x) : torch::clamp_min(x, 0); }
"""


class ModelNew(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.module = load_inline(name="told", cpp_sources=SOURCE, functions=["f"])

    def forward(self, x):
        return self.module.f(x)
