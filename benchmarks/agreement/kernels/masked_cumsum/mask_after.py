"""wrong: the mask is applied to the sums."""

import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

src = """
#include <torch/extension.h>

__global__ void mask_kernel(const float* s, const uint8_t* mask, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = mask[i] ? s[i] : 0.f;
}

torch::Tensor masked(torch::Tensor x, torch::Tensor mask) {
    auto s = torch::cumsum(x, 1);
    auto m = mask.to(torch::kUInt8);
    auto y = torch::empty_like(x);
    mask_kernel<<<(x.numel() + 255) / 256, 256>>>(s.data_ptr<float>(), m.data_ptr<uint8_t>(), y.data_ptr<float>(), x.numel());
    return y;
}
"""

ext = load_inline(name="mask_after", cpp_sources="torch::Tensor masked(torch::Tensor x, torch::Tensor mask);", cuda_sources=src, functions=["masked"])


class ModelNew(nn.Module):
    def forward(self, x, mask):
        return ext.masked(x, mask)
