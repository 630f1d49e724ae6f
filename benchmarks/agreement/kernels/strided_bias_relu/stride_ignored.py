"""wrong: the input is read as if it were contiguous."""

import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

src = """
#include <torch/extension.h>

__global__ void bias_relu_kernel(const float* x, const float* b, float* y, int n, int cols) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = fmaxf(x[i] + b[i % cols], 0.f);
}

torch::Tensor bias_relu(torch::Tensor x, torch::Tensor b) {
    auto y = torch::empty({x.size(0), x.size(1)}, x.options());
    bias_relu_kernel<<<(x.numel() + 127) / 128, 128>>>(x.data_ptr<float>(), b.data_ptr<float>(), y.data_ptr<float>(), x.numel(), x.size(1));
    return y;
}
"""

ext = load_inline(name="bias_relu_rows", cpp_sources="torch::Tensor bias_relu(torch::Tensor x, torch::Tensor b);", cuda_sources=src, functions=["bias_relu"])


class ModelNew(nn.Module):
    def forward(self, x, bias):
        return ext.bias_relu(x, bias)
