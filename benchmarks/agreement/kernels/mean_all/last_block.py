"""correct: the last block to arrive, told by an atomic counter and a fence, adds the parts."""

import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

src = """
#include <torch/extension.h>

__device__ float block_total(float v, float* scratch) {
    scratch[threadIdx.x] = v;
    __syncthreads();
    for (int s = blockDim.x / 2; s > 0; s >>= 1) {
        if (threadIdx.x < s) scratch[threadIdx.x] += scratch[threadIdx.x + s];
        __syncthreads();
    }
    return scratch[0];
}

__global__ void mean_kernel(const float* x, volatile float* parts, unsigned int* counter, float* out, int n) {
    __shared__ float scratch[128];
    __shared__ bool is_last;
    float v = 0.f;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) v += x[i];
    float total = block_total(v, scratch);
    if (threadIdx.x == 0) {
        parts[blockIdx.x] = total;
        __threadfence();
        unsigned int ticket = atomicAdd(counter, 1u);
        is_last = (ticket == gridDim.x - 1);
    }
    __syncthreads();
    if (is_last && threadIdx.x == 0) {
        float sum = 0.f;
        for (int b = 0; b < gridDim.x; ++b) sum += parts[b];
        *out = sum / n;
    }
}

torch::Tensor mean_last_block(torch::Tensor x) {
    const int blocks = 16;
    auto parts = torch::empty({blocks}, x.options());
    auto counter = torch::zeros({1}, x.options().dtype(torch::kInt32));
    auto out = torch::empty({}, x.options());
    mean_kernel<<<blocks, 128>>>(x.data_ptr<float>(), parts.data_ptr<float>(),
                                 reinterpret_cast<unsigned int*>(counter.data_ptr<int>()), out.data_ptr<float>(), x.numel());
    return out;
}
"""

ext = load_inline(
    name="mean_last_block",
    cpp_sources="torch::Tensor mean_last_block(torch::Tensor x);",
    cuda_sources=src,
    functions=["mean_last_block"],
)


class ModelNew(nn.Module):
    def forward(self, x):
        return ext.mean_last_block(x)
