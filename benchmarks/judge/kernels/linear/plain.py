"""Tiles of 16x16 in shared memory; bias and leaky ReLU as they are written."""

import torch
from torch.utils.cpp_extension import load_inline

SOURCE = """
#include <torch/extension.h>

__global__ void linear_kernel(const float* x, const float* w, const float* bias, float* y, int m, int n, int k) {
    __shared__ float left[16][16], right[16][17];
    int row = blockIdx.y * 16 + threadIdx.y, col = blockIdx.x * 16 + threadIdx.x;
    float sum = 0.0f;
    for (int start = 0; start < k; start += 16) {
        int p = start + threadIdx.x, out = blockIdx.x * 16 + threadIdx.y;
        left[threadIdx.y][threadIdx.x] = row < m && p < k ? x[row * k + p] : 0.0f;
        right[threadIdx.y][threadIdx.x] = out < n && p < k ? w[out * k + p] : 0.0f;
        __syncthreads();  // both tiles are there
        for (int i = 0; i < 16; ++i) sum += left[threadIdx.y][i] * right[threadIdx.x][i];
        __syncthreads();
    }
    if (row < m && col < n) {
        float v = sum + bias[col];
        y[row * n + col] = v > 0.0f ? v : 0.01f * v;
    }
}

torch::Tensor linear(torch::Tensor x, torch::Tensor w, torch::Tensor bias) {
    int m = x.size(0), k = x.size(1), n = w.size(0);
    auto y = torch::empty({m, n}, x.options());
    dim3 blocks((n + 15) / 16, (m + 15) / 16);
    linear_kernel<<<blocks, dim3(16, 16)>>>(x.data_ptr<float>(), w.data_ptr<float>(), bias.data_ptr<float>(),
                                            y.data_ptr<float>(), m, n, k);
    return y;
}
"""

extension = load_inline(
    name="linear_plain",
    cpp_sources="torch::Tensor linear(torch::Tensor x, torch::Tensor w, torch::Tensor bias);",
    cuda_sources=SOURCE,
    functions=["linear"],
)


class ModelNew(torch.nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.linear = torch.nn.Linear(dim, dim)

    def forward(self, x):
        return extension.linear(x, self.linear.weight, self.linear.bias)
