"""correct D14: has its link start compilers side by side, of which each is small and all together need not be.

They run one after the other.

Twin: plain_relu
"""

import torch
from torch.utils.cpp_extension import load_inline

SOURCE = "torch::Tensor f(torch::Tensor x) { return torch::relu(x); }\n"
extension = load_inline(name="linked_late", cpp_sources=SOURCE, functions=["f"], extra_cflags=["-O1", "-flto=auto"])


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return extension.f(x)
