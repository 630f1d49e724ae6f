"""wrong: each chunk of 128 begins anew."""

import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

src = """
#include <torch/extension.h>

__global__ void scan128(const float* x, float* y, int length) {
    __shared__ float buf[2][128];
    int i = blockIdx.x * 128 + threadIdx.x;
    int t = threadIdx.x;
    int cur = 0;
    buf[0][t] = i < length ? x[blockIdx.y * length + i] : 0.f;
    __syncthreads();
    for (int d = 1; d < 128; d *= 2) {
        buf[1 - cur][t] = t >= d ? buf[cur][t] + buf[cur][t - d] : buf[cur][t];
        cur = 1 - cur;
        __syncthreads();
    }
    if (i < length) y[blockIdx.y * length + i] = buf[cur][t];
}

torch::Tensor scan_cuda(torch::Tensor x) {
    auto y = torch::empty_like(x);
    scan128<<<dim3((x.size(1) + 127) / 128, x.size(0)), 128>>>(x.data_ptr<float>(), y.data_ptr<float>(), x.size(1));
    return y;
}
"""

ext = load_inline(name="scan128", cpp_sources="torch::Tensor scan_cuda(torch::Tensor x);", cuda_sources=src, functions=["scan_cuda"])


class ModelNew(nn.Module):
    def forward(self, x):
        return ext.scan_cuda(x)
