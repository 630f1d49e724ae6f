"""wrong: the count is a float, and what is equal to the threshold counts."""

import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

src = """
#include <torch/extension.h>

__global__ void count_kernel(const float* x, float* out, int cols) {
    __shared__ int n;
    if (threadIdx.x == 0) n = 0;
    __syncthreads();
    for (int c = threadIdx.x; c < cols; c += blockDim.x)
        if (x[blockIdx.x * cols + c] >= 0.5f) atomicAdd(&n, 1);
    __syncthreads();
    if (threadIdx.x == 0) out[blockIdx.x] = n;
}

torch::Tensor count_cuda(torch::Tensor x) {
    auto out = torch::empty({x.size(0)}, x.options());
    count_kernel<<<x.size(0), 64>>>(x.data_ptr<float>(), out.data_ptr<float>(), x.size(1));
    return out;
}
"""

ext = load_inline(name="count_float", cpp_sources="torch::Tensor count_cuda(torch::Tensor x);", cuda_sources=src, functions=["count_cuda"])


class ModelNew(nn.Module):
    def forward(self, x):
        return ext.count_cuda(x)
