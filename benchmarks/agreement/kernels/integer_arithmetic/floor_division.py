"""correct: C's division mended for negative numbers."""

import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

src = """
#include <torch/extension.h>

__device__ __forceinline__ int floor_div(int a, int b) {
    int q = a / b;
    return (a % b != 0 && ((a < 0) != (b < 0))) ? q - 1 : q;
}

__device__ __forceinline__ int floor_mod(int a, int b) {
    int m = a % b;
    return (m != 0 && ((m < 0) != (b < 0))) ? m + b : m;
}

__global__ void int_kernel(const int* x, int* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = floor_div(x[i], 3) + floor_mod(x[i], 5);
}

torch::Tensor int_cuda(torch::Tensor x) {
    TORCH_CHECK(x.dtype() == torch::kInt32, "expected int32");
    auto y = torch::empty_like(x);
    int_kernel<<<(x.numel() + 255) / 256, 256>>>(x.data_ptr<int>(), y.data_ptr<int>(), x.numel());
    return y;
}
"""

ext = load_inline(name="int_floor", cpp_sources="torch::Tensor int_cuda(torch::Tensor x);", cuda_sources=src, functions=["int_cuda"])


class ModelNew(nn.Module):
    def forward(self, x):
        return ext.int_cuda(x)
