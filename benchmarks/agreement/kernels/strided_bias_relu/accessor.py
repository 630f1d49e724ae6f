"""correct: a packed accessor knows the strides."""

import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

src = """
#include <torch/extension.h>

__global__ void bias_relu(const torch::PackedTensorAccessor32<float, 2> x, const torch::PackedTensorAccessor32<float, 1> b,
                          torch::PackedTensorAccessor32<float, 2> y) {
    int c = blockIdx.x * blockDim.x + threadIdx.x;
    int r = blockIdx.y;
    if (c < x.size(1)) y[r][c] = fmaxf(x[r][c] + b[c], 0.f);
}

torch::Tensor bias_relu_cuda(torch::Tensor x, torch::Tensor b) {
    auto y = torch::empty({x.size(0), x.size(1)}, x.options());
    bias_relu<<<dim3((x.size(1) + 31) / 32, x.size(0)), 32>>>(x.packed_accessor32<float, 2>(), b.packed_accessor32<float, 1>(), y.packed_accessor32<float, 2>());
    return y;
}
"""

ext = load_inline(name="bias_relu_accessor", cpp_sources="torch::Tensor bias_relu_cuda(torch::Tensor x, torch::Tensor b);", cuda_sources=src, functions=["bias_relu_cuda"])


class ModelNew(nn.Module):
    def forward(self, x, bias):
        return ext.bias_relu_cuda(x, bias)
