"""correct: a histogram a block in shared memory, then 64-bit atomics."""

import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

src = """
#include <torch/extension.h>

#define BINS 16

__global__ void histogram(const int64_t* x, unsigned long long* out, int n) {
    __shared__ unsigned int local[BINS];
    if (threadIdx.x < BINS) local[threadIdx.x] = 0;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) atomicAdd(&local[x[i]], 1u);
    __syncthreads();
    if (threadIdx.x < BINS) atomicAdd(&out[threadIdx.x], (unsigned long long)local[threadIdx.x]);
}

torch::Tensor bincount(torch::Tensor x) {
    auto out = torch::zeros({BINS}, x.options());
    histogram<<<6, 128>>>(x.data_ptr<int64_t>(), reinterpret_cast<unsigned long long*>(out.data_ptr<int64_t>()), x.numel());
    return out;
}
"""

ext = load_inline(name="bincount_shared", cpp_sources="torch::Tensor bincount(torch::Tensor x);", cuda_sources=src, functions=["bincount"])


class ModelNew(nn.Module):
    def forward(self, x):
        return ext.bincount(x)
