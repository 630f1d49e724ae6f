"""wrong: the product without the element itself."""

import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

src = """
#include <torch/extension.h>

__global__ void cumprod(const float* x, float* y, int R, int C) {
    int c = threadIdx.x;
    if (c >= C) return;
    float p = 1.f;
    for (int r = 0; r < R; ++r) {
        y[r * C + c] = p;
        p *= x[r * C + c];
    }
}

torch::Tensor cumprod_cuda(torch::Tensor x) {
    auto y = torch::empty_like(x);
    cumprod<<<1, 64>>>(x.data_ptr<float>(), y.data_ptr<float>(), x.size(0), x.size(1));
    return y;
}
"""

ext = load_inline(name="cumprod_exclusive", cpp_sources="torch::Tensor cumprod_cuda(torch::Tensor x);", cuda_sources=src, functions=["cumprod_cuda"])


class ModelNew(nn.Module):
    def forward(self, x):
        return ext.cumprod_cuda(x)
