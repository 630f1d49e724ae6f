"""wrong: divides by as many elements as lie inside."""

import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

src = """
#include <torch/extension.h>

__global__ void avgpool(const float* __restrict__ x, float* __restrict__ y, int n, int L, int OL) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    int row = i / OL, t = i % OL;
    int begin = max(t * 2 - 1, 0), end = min(t * 2 + 3, L);
    float s = 0.f;
    for (int l = begin; l < end; ++l) s += x[row * L + l];
    y[i] = s / (float)(end - begin);
}

torch::Tensor avgpool_cuda(torch::Tensor x) {
    int L = x.size(2), OL = (L + 2 - 4) / 2 + 1;
    auto y = torch::empty({x.size(0), x.size(1), OL}, x.options());
    avgpool<<<(y.numel() + 255) / 256, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), y.numel(), L, OL);
    return y;
}
"""

ext = load_inline(name="avgpool_inside", cpp_sources="torch::Tensor avgpool_cuda(torch::Tensor x);", cuda_sources=src, functions=["avgpool_cuda"])


class ModelNew(nn.Module):
    def forward(self, x):
        return ext.avgpool_cuda(x)
