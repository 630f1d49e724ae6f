"""correct: the library convolves, a kernel does the rest."""

import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

src = """
#include <torch/extension.h>

__global__ void relu_bias_kernel(const float* x, const float* bias, float* out, int total, int channels, int plane) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < total) {
        int c = (i / plane) % channels;
        float v = x[i];
        out[i] = (v > 0.f ? v : 0.f) + bias[c];
    }
}

torch::Tensor relu_bias_cuda(torch::Tensor x, torch::Tensor bias) {
    auto xc = x.contiguous();
    auto out = torch::empty_like(xc);
    int total = xc.numel(), channels = xc.size(1), plane = xc.size(2) * xc.size(3);
    const int threads = 512;
    relu_bias_kernel<<<(total + threads - 1) / threads, threads>>>(xc.data_ptr<float>(), bias.data_ptr<float>(), out.data_ptr<float>(), total, channels, plane);
    return out;
}
"""

relu_bias = load_inline(
    name="relu_bias_after_conv",
    cpp_sources="torch::Tensor relu_bias_cuda(torch::Tensor x, torch::Tensor bias);",
    cuda_sources=src,
    functions=["relu_bias_cuda"],
)


class ModelNew(nn.Module):
    def __init__(self, in_channels, out_channels):
        super().__init__()
        self.conv = nn.Conv2d(in_channels, out_channels, 3, padding=1)
        self.bias = nn.Parameter(torch.randn(out_channels, 1, 1))
        self.relu_bias = relu_bias

    def forward(self, x):
        return self.relu_bias.relu_bias_cuda(self.conv(x), self.bias)
