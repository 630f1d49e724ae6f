"""correct: every step is rounded to half, as PyTorch rounds it."""

import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

src = """
#include <torch/extension.h>
#include <cuda_fp16.h>

__global__ void axpy(const float* x, const float* y, __half* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        __half product = __float2half(__half2float(__float2half(x[i])) * 2.5f);
        out[i] = __float2half(__half2float(product) + __half2float(__float2half(y[i])));
    }
}

torch::Tensor half_axpy(torch::Tensor x, torch::Tensor y) {
    auto out = torch::empty(x.sizes(), x.options().dtype(torch::kHalf));
    axpy<<<(x.numel() + 255) / 256, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), reinterpret_cast<__half*>(out.data_ptr<at::Half>()), x.numel());
    return out;
}
"""

ext = load_inline(name="half_axpy", cpp_sources="torch::Tensor half_axpy(torch::Tensor x, torch::Tensor y);", cuda_sources=src, functions=["half_axpy"])


class ModelNew(nn.Module):
    def forward(self, x, y):
        return ext.half_axpy(x, y)
