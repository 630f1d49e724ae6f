"""correct: sums of blocks in a first kernel, their mean in a second."""

import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

mean_source = """
#include <torch/extension.h>
#include <cuda_runtime.h>

template <unsigned int blockSize>
__global__ void reduce_blocks(const float* g_in, float* g_out, unsigned int n) {
    __shared__ float sdata[blockSize];
    unsigned int tid = threadIdx.x;
    unsigned int i = blockIdx.x * (blockSize * 2) + tid;
    unsigned int gridSize = blockSize * 2 * gridDim.x;
    float mySum = 0.f;
    while (i < n) {
        mySum += g_in[i];
        if (i + blockSize < n) mySum += g_in[i + blockSize];
        i += gridSize;
    }
    sdata[tid] = mySum;
    __syncthreads();
    if (blockSize >= 256) { if (tid < 128) sdata[tid] += sdata[tid + 128]; __syncthreads(); }
    if (blockSize >= 128) { if (tid < 64) sdata[tid] += sdata[tid + 64]; __syncthreads(); }
    if (tid < 32) {
        float v = sdata[tid] + sdata[tid + 32];
        for (int offset = 16; offset > 0; offset /= 2) v += __shfl_down_sync(0xffffffff, v, offset);
        if (tid == 0) g_out[blockIdx.x] = v;
    }
}

__global__ void finish(const float* parts, float* out, int count, float n) {
    float v = threadIdx.x < count ? parts[threadIdx.x] : 0.f;
    for (int offset = 16; offset > 0; offset /= 2) v += __shfl_down_sync(0xffffffff, v, offset);
    if (threadIdx.x == 0) *out = v / n;
}

torch::Tensor mean_cuda(torch::Tensor x) {
    const int blocks = 24;
    auto parts = torch::empty({blocks}, x.options());
    auto out = torch::empty({}, x.options());
    reduce_blocks<256><<<blocks, 256>>>(x.data_ptr<float>(), parts.data_ptr<float>(), x.numel());
    finish<<<1, 32>>>(parts.data_ptr<float>(), out.data_ptr<float>(), blocks, (float)x.numel());
    return out;
}
"""

mean_ext = load_inline(
    name="mean_two_kernels",
    cpp_sources="torch::Tensor mean_cuda(torch::Tensor x);",
    cuda_sources=mean_source,
    functions=["mean_cuda"],
    extra_cuda_cflags=["-O3"],
)


class ModelNew(nn.Module):
    def forward(self, x):
        return mean_ext.mean_cuda(x)
