"""wrong: the maximum is not added to the logarithm."""

import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

src = """
#include <torch/extension.h>

__global__ void lse_kernel(const float* x, float* y, int rows, int cols) {
    int r = blockIdx.x * blockDim.x + threadIdx.x;
    if (r >= rows) return;
    float m = x[r * cols];
    for (int c = 1; c < cols; ++c) m = fmaxf(m, x[r * cols + c]);
    float s = 0.f;
    for (int c = 0; c < cols; ++c) s += expf(x[r * cols + c] - m);
    y[r] = logf(s);
}

torch::Tensor lse(torch::Tensor x) {
    auto y = torch::empty({x.size(0)}, x.options());
    lse_kernel<<<1, 64>>>(x.data_ptr<float>(), y.data_ptr<float>(), x.size(0), x.size(1));
    return y;
}
"""

ext = load_inline(name="lse_no_max", cpp_sources="torch::Tensor lse(torch::Tensor x);", cuda_sources=src, functions=["lse"])


class ModelNew(nn.Module):
    def forward(self, x):
        return ext.lse(x)
