"""correct: three registers a row, kept in order."""

import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

src = """
#include <torch/extension.h>

__global__ void top3(const float* x, float* out, int rows, int cols) {
    int r = blockIdx.x * blockDim.x + threadIdx.x;
    if (r >= rows) return;
    float a = -INFINITY, b = -INFINITY, c = -INFINITY;
    for (int i = 0; i < cols; ++i) {
        float v = x[r * cols + i];
        if (v > a) {
            c = b; b = a; a = v;
        } else if (v > b) {
            c = b; b = v;
        } else if (v > c) {
            c = v;
        }
    }
    out[3 * r] = a;
    out[3 * r + 1] = b;
    out[3 * r + 2] = c;
}

torch::Tensor top3_cuda(torch::Tensor x) {
    auto out = torch::empty({x.size(0), 3}, x.options());
    top3<<<(x.size(0) + 31) / 32, 32>>>(x.data_ptr<float>(), out.data_ptr<float>(), x.size(0), x.size(1));
    return out;
}
"""

ext = load_inline(name="top3", cpp_sources="torch::Tensor top3_cuda(torch::Tensor x);", cuda_sources=src, functions=["top3_cuda"])


class ModelNew(nn.Module):
    def forward(self, x):
        return ext.top3_cuda(x)
