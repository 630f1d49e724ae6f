"""failed/unsupported D14: has a compiler called with more words than the program that confines it takes.

Which was the fault of the machine.
"""

import torch
from torch.utils.cpp_extension import load_inline

SOURCE = "#include <torch/extension.h>\ntorch::Tensor f(torch::Tensor x) { return torch::relu(x); }\n"
extension = load_inline(name="many_words", cpp_sources=SOURCE, functions=["f"], extra_cflags=["-g"] * 9_000)


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return extension.f(x)
