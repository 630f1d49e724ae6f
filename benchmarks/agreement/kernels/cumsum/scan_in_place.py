"""race: a scan in one buffer without a barrier between reading and writing."""

import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

src = """
#include <torch/extension.h>

__global__ void cumsum(const float* x, float* y, int n) {
    __shared__ float s[512];
    int t = threadIdx.x;
    s[t] = t < n ? x[blockIdx.x * n + t] : 0.f;
    __syncthreads();
    for (int offset = 1; offset < 512; offset <<= 1) {
        if (t >= offset) s[t] += s[t - offset];
        __syncthreads();
    }
    if (t < n) y[blockIdx.x * n + t] = s[t];
}

torch::Tensor cumsum_cuda(torch::Tensor x) {
    auto y = torch::empty_like(x);
    cumsum<<<x.size(0), 512>>>(x.data_ptr<float>(), y.data_ptr<float>(), x.size(1));
    return y;
}
"""

ext = load_inline(name="cumsum_race", cpp_sources="torch::Tensor cumsum_cuda(torch::Tensor x);", cuda_sources=src, functions=["cumsum_cuda"])


class ModelNew(nn.Module):
    def forward(self, x):
        return ext.cumsum_cuda(x)
