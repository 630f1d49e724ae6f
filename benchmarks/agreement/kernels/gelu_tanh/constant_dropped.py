"""wrong: the cubic term is left out."""

import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

gelu_src = """
#include <torch/extension.h>

__global__ void gelu_kernel(const float* x, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        float v = x[i];
        y[i] = 0.5f * v * (1.0f + tanhf(0.79788456f * v));
    }
}

torch::Tensor gelu_cuda(torch::Tensor x) {
    auto y = torch::empty_like(x);
    gelu_kernel<<<(x.numel() + 511) / 512, 512>>>(x.data_ptr<float>(), y.data_ptr<float>(), x.numel());
    return y;
}
"""

gelu_op = load_inline(
    name="gelu_no_cube",
    cpp_sources="torch::Tensor gelu_cuda(torch::Tensor x);",
    cuda_sources=gelu_src,
    functions=["gelu_cuda"],
)


class ModelNew(nn.Module):
    def forward(self, x):
        return gelu_op.gelu_cuda(x)
