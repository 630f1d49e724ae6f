"""correct: one kernel that reads the mask as bool."""

import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

src = """
#include <torch/extension.h>

__global__ void where_kernel(const bool* __restrict__ m, const float* __restrict__ x, const float* __restrict__ y, float* __restrict__ out, int n) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x) out[i] = m[i] ? x[i] : 2.0f * y[i];
}

torch::Tensor where_cuda(torch::Tensor m, torch::Tensor x, torch::Tensor y) {
    auto out = torch::empty_like(x);
    where_kernel<<<7, 160>>>(m.data_ptr<bool>(), x.data_ptr<float>(), y.data_ptr<float>(), out.data_ptr<float>(), x.numel());
    return out;
}
"""

ext = load_inline(name="where_select", cpp_sources="torch::Tensor where_cuda(torch::Tensor m, torch::Tensor x, torch::Tensor y);", cuda_sources=src, functions=["where_cuda"])


class ModelNew(nn.Module):
    def forward(self, mask, x, y):
        return ext.where_cuda(mask, x, y)
