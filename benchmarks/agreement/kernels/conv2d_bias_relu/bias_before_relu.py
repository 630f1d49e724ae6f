"""wrong: the second bias is added before ReLU."""

import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

src = """
#include <torch/extension.h>

__global__ void bias_relu(float* x, const float* bias, int total, int C, int HW) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < total; i += blockDim.x * gridDim.x)
        x[i] = fmaxf(x[i] + bias[i / HW % C], 0.0f);
}

torch::Tensor bias_relu_(torch::Tensor x, torch::Tensor bias) {
    bias_relu<<<20, 128>>>(x.data_ptr<float>(), bias.data_ptr<float>(), x.numel(), x.size(1), x.size(2) * x.size(3));
    return x;
}
"""

ext = load_inline(
    name="bias_relu_inplace",
    cpp_sources="torch::Tensor bias_relu_(torch::Tensor x, torch::Tensor bias);",
    cuda_sources=src,
    functions=["bias_relu_"],
)


class ModelNew(nn.Module):
    def __init__(self, in_channels, out_channels):
        super().__init__()
        self.conv = nn.Conv2d(in_channels, out_channels, 3, padding=1)
        self.bias = nn.Parameter(torch.randn(out_channels, 1, 1))

    def forward(self, x):
        return ext.bias_relu_(self.conv(x), self.bias)
