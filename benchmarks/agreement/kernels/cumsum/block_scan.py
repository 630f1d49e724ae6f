"""correct: a scan of warps and of their totals, chunk after chunk."""

import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

src = """
#include <torch/extension.h>

__global__ void block_scan(const float* __restrict__ x, float* __restrict__ y, int length) {
    __shared__ float totals[4];
    __shared__ float carry;
    const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    const float* in = x + (size_t)blockIdx.x * length;
    float* out = y + (size_t)blockIdx.x * length;
    if (threadIdx.x == 0) carry = 0.f;
    __syncthreads();
    for (int base = 0; base < length; base += 128) {
        const int i = base + threadIdx.x;
        float v = i < length ? in[i] : 0.f;
        #pragma unroll
        for (int d = 1; d < 32; d <<= 1) {
            float left = __shfl_up_sync(0xffffffff, v, d);
            if (lane >= d) v += left;
        }
        if (lane == 31) totals[warp] = v;
        __syncthreads();
        float before = carry;
        for (int w = 0; w < warp; ++w) before += totals[w];
        if (i < length) out[i] = before + v;
        __syncthreads();
        if (threadIdx.x == 127) carry = before + v;
        __syncthreads();
    }
}

torch::Tensor scan(torch::Tensor x) {
    auto y = torch::empty_like(x);
    block_scan<<<x.size(0), 128>>>(x.data_ptr<float>(), y.data_ptr<float>(), x.size(1));
    return y;
}
"""

ext = load_inline(name="block_scan", cpp_sources="torch::Tensor scan(torch::Tensor x);", cuda_sources=src, functions=["scan"])


class ModelNew(nn.Module):
    def forward(self, x):
        return ext.scan(x)
