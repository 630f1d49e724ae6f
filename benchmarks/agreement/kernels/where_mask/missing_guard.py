"""failed: no guard for the last block, which writes past the end."""

import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

src = """
#include <torch/extension.h>

__global__ void where_kernel(const bool* m, const float* x, const float* y, float* out) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = m[i] ? x[i] : 2.0f * y[i];
}

torch::Tensor where_cuda(torch::Tensor m, torch::Tensor x, torch::Tensor y) {
    auto out = torch::empty_like(x);
    where_kernel<<<(x.numel() + 255) / 256, 256>>>(m.data_ptr<bool>(), x.data_ptr<float>(), y.data_ptr<float>(), out.data_ptr<float>());
    return out;
}
"""

ext = load_inline(name="where_no_guard", cpp_sources="torch::Tensor where_cuda(torch::Tensor m, torch::Tensor x, torch::Tensor y);", cuda_sources=src, functions=["where_cuda"])


class ModelNew(nn.Module):
    def forward(self, mask, x, y):
        return ext.where_cuda(mask, x, y)
