"""correct control: the library convolves, a kernel of its own adds a bias after ReLU.

Problem: convolution_then_bias
"""

import torch
from torch import nn
from torch.utils.cpp_extension import load_inline

SOURCE = """
#include <torch/extension.h>

__global__ void relu_bias_kernel(const float* x, const float* bias, float* out, int total, int channels, int plane) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < total) out[i] = (x[i] > 0.f ? x[i] : 0.f) + bias[(i / plane) % channels];
}

torch::Tensor relu_bias(torch::Tensor x, torch::Tensor bias) {
    auto out = torch::empty_like(x);
    int total = x.numel(), channels = x.size(1), plane = x.size(2) * x.size(3);
    relu_bias_kernel<<<(total + 255) / 256, 256>>>(x.data_ptr<float>(), bias.data_ptr<float>(), out.data_ptr<float>(),
                                                   total, channels, plane);
    return out;
}
"""

extension = load_inline(
    name="relu_bias",
    cpp_sources="torch::Tensor relu_bias(torch::Tensor x, torch::Tensor bias);",
    cuda_sources=SOURCE,
    functions=["relu_bias"],
)


class ModelNew(nn.Module):
    def __init__(self, channels_in, channels_out):
        super().__init__()
        self.conv = nn.Conv2d(channels_in, channels_out, 3, padding=1)
        self.bias = nn.Parameter(torch.randn(channels_out, 1, 1))

    def forward(self, x):
        return extension.relu_bias(self.conv(x).contiguous(), self.bias)
