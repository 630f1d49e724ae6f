"""correct control: CUDA that draws the second factor first, so that the same seed gives it other weights.

Problem: two_factors
"""

import torch
from torch.utils.cpp_extension import load_inline

source = """
#include <torch/extension.h>

__global__ void scale_and_shift(const float* x, const float* scale, const float* shift, float* y, int n, int width) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = x[i] * scale[i % width] - shift[i % width];
}

torch::Tensor forward(torch::Tensor x, torch::Tensor scale, torch::Tensor shift) {
    auto y = torch::empty_like(x);
    int n = x.numel();
    scale_and_shift<<<(n + 255) / 256, 256>>>(
        x.data_ptr<float>(), scale.data_ptr<float>(), shift.data_ptr<float>(), y.data_ptr<float>(), n, x.size(1));
    return y;
}
"""
declaration = "torch::Tensor forward(torch::Tensor x, torch::Tensor scale, torch::Tensor shift);"
kernels = load_inline("two_factors", declaration, source, functions=["forward"])


class ModelNew(torch.nn.Module):
    def __init__(self, width):
        super().__init__()
        self.shift = torch.nn.Parameter(torch.rand(width))
        self.scale = torch.nn.Parameter(torch.rand(width))

    def forward(self, x):
        return kernels.forward(x, self.scale, self.shift)
