"""correct: a thread adds along a row."""

import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

src = """
#include <torch/extension.h>

__global__ void cumsum_kernel(const float* x, float* y, int rows, int length) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows) return;
    float running = 0.0f;
    for (int i = 0; i < length; ++i) {
        running += x[row * length + i];
        y[row * length + i] = running;
    }
}

torch::Tensor cumsum_cuda(torch::Tensor x) {
    auto y = torch::empty_like(x);
    int rows = x.size(0);
    cumsum_kernel<<<(rows + 31) / 32, 32>>>(x.data_ptr<float>(), y.data_ptr<float>(), rows, x.size(1));
    return y;
}
"""

ext = load_inline(name="cumsum_rows", cpp_sources="torch::Tensor cumsum_cuda(torch::Tensor x);", cuda_sources=src, functions=["cumsum_cuda"])


class ModelNew(nn.Module):
    def __init__(self, dim=1):
        super().__init__()
        self.dim = dim

    def forward(self, x):
        return ext.cumsum_cuda(x)
