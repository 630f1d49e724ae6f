"""wrong: what the mask does not keep is never written."""

import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

src = """
#include <torch/extension.h>

__global__ void where_kernel(const bool* m, const float* x, const float* y, float* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n && m[i]) out[i] = x[i];
    else if (i < n && y[i] > 1e30f) out[i] = 2.0f * y[i];
}

torch::Tensor where_cuda(torch::Tensor m, torch::Tensor x, torch::Tensor y) {
    auto out = torch::empty_like(x);
    where_kernel<<<(x.numel() + 255) / 256, 256>>>(m.data_ptr<bool>(), x.data_ptr<float>(), y.data_ptr<float>(), out.data_ptr<float>(), x.numel());
    return out;
}
"""

ext = load_inline(name="where_no_else", cpp_sources="torch::Tensor where_cuda(torch::Tensor m, torch::Tensor x, torch::Tensor y);", cuda_sources=src, functions=["where_cuda"])


class ModelNew(nn.Module):
    def forward(self, mask, x, y):
        return ext.where_cuda(mask, x, y)
