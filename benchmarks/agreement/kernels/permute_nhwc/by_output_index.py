"""correct: a thread for each output element, 64-bit indices."""

import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

src = """
#include <torch/extension.h>

__global__ void nchw_to_nhwc(const float* __restrict__ in, float* __restrict__ out, int64_t C, int64_t HW, int64_t total) {
    int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= total) return;
    int64_t c = i % C;
    int64_t p = (i / C) % HW;
    int64_t n = i / (C * HW);
    out[i] = in[(n * C + c) * HW + p];
}

torch::Tensor to_nhwc(torch::Tensor x) {
    auto out = torch::empty({x.size(0), x.size(2), x.size(3), x.size(1)}, x.options());
    int64_t total = x.numel();
    nchw_to_nhwc<<<(unsigned)((total + 255) / 256), 256>>>(x.data_ptr<float>(), out.data_ptr<float>(), x.size(1), x.size(2) * x.size(3), total);
    return out;
}
"""

ext = load_inline(name="to_nhwc", cpp_sources="torch::Tensor to_nhwc(torch::Tensor x);", cuda_sources=src, functions=["to_nhwc"])


class ModelNew(nn.Module):
    def forward(self, x):
        return ext.to_nhwc(x)
