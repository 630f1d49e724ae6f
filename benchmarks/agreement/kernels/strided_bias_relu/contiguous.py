"""correct: laid out anew before the kernel."""

import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

src = """
#include <torch/extension.h>

__global__ void bias_relu_kernel(const float* x, const float* b, float* y, int n, int cols) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        float v = x[i] + b[i % cols];
        y[i] = v > 0.f ? v : 0.f;
    }
}

torch::Tensor bias_relu(torch::Tensor x, torch::Tensor b) {
    x = x.contiguous();
    auto y = torch::empty_like(x);
    bias_relu_kernel<<<(x.numel() + 255) / 256, 256>>>(x.data_ptr<float>(), b.data_ptr<float>(), y.data_ptr<float>(), x.numel(), x.size(1));
    return y;
}
"""

ext = load_inline(name="bias_relu_contiguous", cpp_sources="torch::Tensor bias_relu(torch::Tensor x, torch::Tensor b);", cuda_sources=src, functions=["bias_relu"])


class ModelNew(nn.Module):
    def forward(self, x, bias):
        return ext.bias_relu(x, bias)
