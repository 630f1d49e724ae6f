"""correct: as the last block does it, without volatile; the counter is an int tensor."""

import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

src = """
#include <torch/extension.h>

__global__ void mean_kernel(const float* x, float* parts, int* counter, float* out, int n) {
    __shared__ float s[64];
    __shared__ int ticket;
    float v = 0.f;
    for (int i = blockIdx.x * 64 + threadIdx.x; i < n; i += gridDim.x * 64) v += x[i];
    s[threadIdx.x] = v;
    __syncthreads();
    for (int k = 32; k > 0; k >>= 1) {
        if (threadIdx.x < k) s[threadIdx.x] += s[threadIdx.x + k];
        __syncthreads();
    }
    if (threadIdx.x == 0) {
        parts[blockIdx.x] = s[0];
        __threadfence();
        ticket = atomicAdd(counter, 1);
    }
    __syncthreads();
    if (ticket == gridDim.x - 1 && threadIdx.x == 0) {
        __threadfence();
        float sum = 0.f;
        for (int b = 0; b < gridDim.x; ++b) sum += __ldcg(&parts[b]);
        *out = sum / n;
    }
}

torch::Tensor mean_cuda(torch::Tensor x) {
    auto parts = torch::empty({20}, x.options());
    auto counter = torch::zeros({1}, x.options().dtype(torch::kInt32));
    auto out = torch::empty({}, x.options());
    mean_kernel<<<20, 64>>>(x.data_ptr<float>(), parts.data_ptr<float>(), counter.data_ptr<int>(), out.data_ptr<float>(), x.numel());
    return out;
}
"""

ext = load_inline(name="mean_fence", cpp_sources="torch::Tensor mean_cuda(torch::Tensor x);", cuda_sources=src, functions=["mean_cuda"])


class ModelNew(nn.Module):
    def forward(self, x):
        return ext.mean_cuda(x)
