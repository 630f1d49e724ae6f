"""Failing: the kernel uses `column`, which it never declares, so the compiler refuses it."""

import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

cuda_source = """
#include <torch/extension.h>

__global__ void add_relu_kernel(const float* x, const float* bias, float* y, int rows, int columns) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < rows * columns) {
        y[i] = fmaxf(x[i] + bias[column], 0.0f);
    }
}

torch::Tensor add_relu(torch::Tensor x, torch::Tensor bias) {
    auto y = torch::empty_like(x);
    const int threads = 256;
    const int blocks = (x.numel() + threads - 1) / threads;
    add_relu_kernel<<<blocks, threads>>>(
        x.data_ptr<float>(), bias.data_ptr<float>(), y.data_ptr<float>(), x.size(0), x.size(1));
    return y;
}
"""

extension = load_inline(
    name="add_relu_undeclared",
    cpp_sources="torch::Tensor add_relu(torch::Tensor x, torch::Tensor bias);",
    cuda_sources=cuda_source,
    functions=["add_relu"],
)


class ModelNew(nn.Module):
    def __init__(self, in_features, out_features, bias_shape):
        super().__init__()
        self.gemm = nn.Linear(in_features, out_features, bias=False)
        self.bias = nn.Parameter(torch.randn(bias_shape))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return extension.add_relu(self.gemm(x), self.bias)
