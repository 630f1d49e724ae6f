"""C++ alone, for the CPU, with std algorithms."""

import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

cpp_source = """
#include <torch/extension.h>
#include <algorithm>
#include <vector>

torch::Tensor sort_cpu(torch::Tensor x) {
    TORCH_CHECK(x.device().type() == torch::kCPU, "x must be on the CPU");
    auto y = x.clone();
    float* data = y.data_ptr<float>();
    std::sort(data, data + y.numel());
    return y;
}
"""

extension = load_inline(name="cpp_only", cpp_sources=[cpp_source], functions=["sort_cpu"], extra_cflags=["-O3"])


class Model(nn.Module):
    def forward(self, x):
        return torch.sort(x).values


class ModelNew(nn.Module):
    def forward(self, x):
        return extension.sort_cpu(x)


def get_inputs():
    return [torch.randn(200)]


def get_init_inputs():
    return []
