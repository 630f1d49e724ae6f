"""wrong: a row must fit into 256 threads, and what lies beyond is never written."""

import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

src = """
#include <torch/extension.h>

__global__ void cumsum(const float* x, float* y, int n) {
    extern __shared__ float s[];
    int t = threadIdx.x;
    s[t] = t < n ? x[blockIdx.x * n + t] : 0.f;
    __syncthreads();
    for (int offset = 1; offset < blockDim.x; offset <<= 1) {
        float v = 0.f;
        if (t >= offset) v = s[t - offset];
        __syncthreads();
        s[t] += v;
        __syncthreads();
    }
    if (t < n) y[blockIdx.x * n + t] = s[t];
}

torch::Tensor cumsum_cuda(torch::Tensor x) {
    auto y = torch::empty_like(x);
    int threads = std::min<int>(x.size(1), 256);
    cumsum<<<x.size(0), threads, threads * sizeof(float)>>>(x.data_ptr<float>(), y.data_ptr<float>(), x.size(1));
    return y;
}
"""

ext = load_inline(name="cumsum_256", cpp_sources="torch::Tensor cumsum_cuda(torch::Tensor x);", cuda_sources=src, functions=["cumsum_cuda"])


class ModelNew(nn.Module):
    def forward(self, x):
        return ext.cumsum_cuda(x)
