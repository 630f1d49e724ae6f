"""wrong: C's division rounds negative numbers towards 0."""

import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

src = """
#include <torch/extension.h>

__global__ void int_kernel(const int32_t* x, int32_t* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = x[i] / 3 + x[i] % 5;
}

torch::Tensor int_cuda(torch::Tensor x) {
    auto y = torch::empty_like(x);
    int_kernel<<<(x.numel() + 63) / 64, 64>>>(x.data_ptr<int32_t>(), y.data_ptr<int32_t>(), x.numel());
    return y;
}
"""

ext = load_inline(name="int_trunc", cpp_sources="torch::Tensor int_cuda(torch::Tensor x);", cuda_sources=src, functions=["int_cuda"])


class ModelNew(nn.Module):
    def forward(self, x):
        return ext.int_cuda(x)
