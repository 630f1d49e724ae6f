"""failed: the launcher passes one argument too few, which no compiler takes."""

import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

cuda_source = """
#include <torch/extension.h>

__global__ void mish_kernel(const float* x, const float* y, float* out, int n) {
    int idx = blockIdx.x * blockDim.x + threadIdx.x;
    if (idx < n) {
        float sp = log1pf(expf(x[idx]));
        out[idx] = x[idx] * tanhf(sp) + y[idx];
    }
}

torch::Tensor mish_residual(torch::Tensor x, torch::Tensor y) {
    auto out = torch::empty_like(x);
    int n = x.numel();
    mish_kernel<<<(n + 255) / 256, 256>>>(x.data_ptr<float>(), out.data_ptr<float>(), n);
    return out;
}
"""

mish = load_inline(
    name="mish_argument_count",
    cpp_sources="torch::Tensor mish_residual(torch::Tensor x, torch::Tensor y);",
    cuda_sources=cuda_source,
    functions=["mish_residual"],
)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, x, y):
        return mish.mish_residual(x, y)
