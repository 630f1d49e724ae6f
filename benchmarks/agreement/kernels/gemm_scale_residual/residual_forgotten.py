"""wrong: scaled, and the original is not added."""

import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

src = """
#include <torch/extension.h>

__global__ void scale_kernel(float* y, float s, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] *= s;
}

torch::Tensor gemm_scale(torch::Tensor x, torch::Tensor w, torch::Tensor b, double s) {
    auto y = torch::addmm(b, x, w.t());
    scale_kernel<<<(y.numel() + 255) / 256, 256>>>(y.data_ptr<float>(), (float)s, y.numel());
    return y;
}
"""

ext = load_inline(
    name="gemm_scale",
    cpp_sources="torch::Tensor gemm_scale(torch::Tensor x, torch::Tensor w, torch::Tensor b, double s);",
    cuda_sources=src,
    functions=["gemm_scale"],
)


class ModelNew(nn.Module):
    def __init__(self, in_features, out_features, scaling_factor):
        super().__init__()
        self.matmul = nn.Linear(in_features, out_features)
        self.scaling_factor = scaling_factor

    def forward(self, x):
        return ext.gemm_scale(x, self.matmul.weight, self.matmul.bias, self.scaling_factor)
