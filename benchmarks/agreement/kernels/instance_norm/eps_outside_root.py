"""wrong: the unbiased variance, and eps is added outside of the root."""

import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

src = """
#include <torch/extension.h>

__global__ void inorm(const float* x, float* y, int n, float eps) {
    __shared__ float buf[128];
    const float* p = x + blockIdx.x * n;
    float s = 0;
    for (int i = threadIdx.x; i < n; i += 128) s += p[i];
    buf[threadIdx.x] = s;
    __syncthreads();
    for (int k = 64; k > 0; k >>= 1) {
        if (threadIdx.x < k) buf[threadIdx.x] += buf[threadIdx.x + k];
        __syncthreads();
    }
    float mean = buf[0] / n;
    __syncthreads();
    s = 0;
    for (int i = threadIdx.x; i < n; i += 128) s += (p[i] - mean) * (p[i] - mean);
    buf[threadIdx.x] = s;
    __syncthreads();
    for (int k = 64; k > 0; k >>= 1) {
        if (threadIdx.x < k) buf[threadIdx.x] += buf[threadIdx.x + k];
        __syncthreads();
    }
    float std_dev = sqrtf(buf[0] / (n - 1)) + eps;
    for (int i = threadIdx.x; i < n; i += 128) y[blockIdx.x * n + i] = (p[i] - mean) / std_dev;
}

torch::Tensor inorm_cuda(torch::Tensor x) {
    auto y = torch::empty_like(x);
    inorm<<<x.size(0) * x.size(1), 128>>>(x.data_ptr<float>(), y.data_ptr<float>(), x.size(2) * x.size(3), 1e-5f);
    return y;
}
"""

mod = load_inline(name="inorm_eps", cpp_sources="torch::Tensor inorm_cuda(torch::Tensor x);", cuda_sources=src, functions=["inorm_cuda"])


class ModelNew(nn.Module):
    def forward(self, x):
        return mod.inorm_cuda(x)
