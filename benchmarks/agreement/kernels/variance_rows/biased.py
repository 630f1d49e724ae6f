"""wrong: divided by as many as there are."""

import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

src = """
#include <torch/extension.h>

__global__ void var_kernel(const float* __restrict__ x, float* __restrict__ y, int rows, int cols) {
    int r = blockIdx.x * blockDim.x + threadIdx.x;
    if (r >= rows) return;
    float mean = 0.f, m2 = 0.f;
    for (int c = 0; c < cols; ++c) {
        float v = x[r * cols + c];
        float delta = v - mean;
        mean += delta / (c + 1);
        m2 += delta * (v - mean);
    }
    y[r] = m2 / cols;
}

torch::Tensor var_cuda(torch::Tensor x) {
    auto y = torch::empty({x.size(0)}, x.options());
    var_kernel<<<(x.size(0) + 31) / 32, 32>>>(x.data_ptr<float>(), y.data_ptr<float>(), x.size(0), x.size(1));
    return y;
}
"""

ext = load_inline(
    name="var_biased",
    cpp_sources="torch::Tensor var_cuda(torch::Tensor x);",
    cuda_sources=src,
    functions=["var_cuda"],
)


class ModelNew(nn.Module):
    def forward(self, x):
        return ext.var_cuda(x)
