"""correct: a thread a row."""

import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

src = """
#include <torch/extension.h>

__global__ void prod_kernel(const float* x, float* y, int rows, int cols) {
    for (int r = blockIdx.x * blockDim.x + threadIdx.x; r < rows; r += blockDim.x * gridDim.x) {
        float p = 1.0f;
        #pragma unroll 4
        for (int c = 0; c < cols; ++c) p *= x[r * cols + c];
        y[r] = p;
    }
}

torch::Tensor prod(torch::Tensor x) {
    auto y = torch::empty(x.size(0), x.options());
    prod_kernel<<<2, 32>>>(x.data_ptr<float>(), y.data_ptr<float>(), x.size(0), x.size(1));
    return y;
}
"""

ext = load_inline(name="prod_rows", cpp_sources="torch::Tensor prod(torch::Tensor x);", cuda_sources=src, functions=["prod"])


class ModelNew(nn.Module):
    def forward(self, x):
        return ext.prod(x)
