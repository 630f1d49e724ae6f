"""correct: one kernel that multiplies by the scale and one."""

import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

src = """
#include <torch/extension.h>

__global__ void scale_residual_kernel(const float* __restrict__ x, float* __restrict__ out, float scale, int size) {
    int idx = blockIdx.x * blockDim.x + threadIdx.x;
    if (idx < size) {
        float original = x[idx];
        out[idx] = original * scale + original;
    }
}

torch::Tensor scale_residual(torch::Tensor x, float scale) {
    auto out = torch::empty_like(x);
    int size = x.numel();
    int block = 256;
    scale_residual_kernel<<<(size + block - 1) / block, block>>>(x.data_ptr<float>(), out.data_ptr<float>(), scale, size);
    return out;
}
"""

scale_residual = load_inline(
    name="scale_residual",
    cpp_sources="torch::Tensor scale_residual(torch::Tensor x, float scale);",
    cuda_sources=src,
    functions=["scale_residual"],
)


class ModelNew(nn.Module):
    def __init__(self, in_features, out_features, scaling_factor):
        super().__init__()
        self.matmul = nn.Linear(in_features, out_features)
        self.scaling_factor = scaling_factor

    def forward(self, x):
        return scale_residual.scale_residual(self.matmul(x), self.scaling_factor)
