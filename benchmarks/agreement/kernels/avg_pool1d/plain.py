"""correct: divides by the size of the window, padding included."""

import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

src = """
#include <torch/extension.h>

__global__ void avg_pool1d_kernel(const float* x, float* y, int rows, int L, int OL, int k, int s, int p) {
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    const int row = blockIdx.y;
    if (t >= OL || row >= rows) return;
    float sum = 0.0f;
    for (int j = 0; j < k; ++j) {
        const int l = t * s - p + j;
        if (l >= 0 && l < L) sum += x[row * L + l];
    }
    y[row * OL + t] = sum / k;
}

torch::Tensor avg_pool1d(torch::Tensor x, int k, int s, int p) {
    const int L = x.size(2), OL = (L + 2 * p - k) / s + 1, rows = x.size(0) * x.size(1);
    auto y = torch::empty({x.size(0), x.size(1), OL}, x.options());
    avg_pool1d_kernel<<<dim3((OL + 31) / 32, rows), 32>>>(x.data_ptr<float>(), y.data_ptr<float>(), rows, L, OL, k, s, p);
    return y;
}
"""

ext = load_inline(
    name="avg_pool1d",
    cpp_sources="torch::Tensor avg_pool1d(torch::Tensor x, int k, int s, int p);",
    cuda_sources=src,
    functions=["avg_pool1d"],
)


class ModelNew(nn.Module):
    def forward(self, x):
        return ext.avg_pool1d(x, 4, 2, 1)
