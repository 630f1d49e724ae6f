"""failed: whole numbers are asked for as floats, which torch refuses."""

import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

src = """
#include <torch/extension.h>

__global__ void kernel(const float* x, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = floorf(x[i] / 3.0f) + (x[i] - 5.0f * floorf(x[i] / 5.0f));
}

torch::Tensor forward(torch::Tensor x) {
    auto y = torch::empty_like(x);
    kernel<<<(x.numel() + 255) / 256, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), x.numel());
    return y;
}
"""

ext = load_inline(name="int_as_float", cpp_sources="torch::Tensor forward(torch::Tensor x);", cuda_sources=src, functions=["forward"])


class ModelNew(nn.Module):
    def forward(self, x):
        return ext.forward(x)
