"""wrong: the output is in single precision."""

import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

src = """
#include <torch/extension.h>

__global__ void axpy(const float* x, const float* y, float* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = 2.5f * x[i] + y[i];
}

torch::Tensor axpy_cuda(torch::Tensor x, torch::Tensor y) {
    auto out = torch::empty_like(x);
    axpy<<<(x.numel() + 255) / 256, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), out.data_ptr<float>(), x.numel());
    return out;
}
"""

ext = load_inline(name="axpy_single", cpp_sources="torch::Tensor axpy_cuda(torch::Tensor x, torch::Tensor y);", cuda_sources=src, functions=["axpy_cuda"])


class ModelNew(nn.Module):
    def forward(self, x, y):
        return ext.axpy_cuda(x, y)
