"""wrong: rows and columns are taken to be alike, as in a square matrix."""

import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

src = """
#include <torch/extension.h>

__global__ void transpose(const float* x, float* y, int rows, int cols) {
    int c = blockIdx.x * blockDim.x + threadIdx.x;
    int r = blockIdx.y * blockDim.y + threadIdx.y;
    if (r < rows && c < rows) y[c * rows + r] = x[r * cols + c];
}

torch::Tensor transpose_cuda(torch::Tensor x) {
    int rows = x.size(0), cols = x.size(1);
    auto y = torch::zeros({cols, rows}, x.options());
    transpose<<<dim3((cols + 15) / 16, (rows + 15) / 16), dim3(16, 16)>>>(x.data_ptr<float>(), y.data_ptr<float>(), rows, cols);
    return y;
}
"""

ext = load_inline(name="transpose_square", cpp_sources="torch::Tensor transpose_cuda(torch::Tensor x);", cuda_sources=src, functions=["transpose_cuda"])


class ModelNew(nn.Module):
    def forward(self, x):
        return ext.transpose_cuda(x)
