"""failed: more static shared memory than a block may have."""

import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

src = """
#include <torch/extension.h>

#define MAX_COLS 16384

__global__ void lse_kernel(const float* x, float* y, int cols) {
    __shared__ float row[MAX_COLS];
    __shared__ float red[128];
    for (int c = threadIdx.x; c < cols; c += 128) row[c] = x[blockIdx.x * cols + c];
    __syncthreads();
    float m = -INFINITY;
    for (int c = threadIdx.x; c < cols; c += 128) m = fmaxf(m, row[c]);
    red[threadIdx.x] = m;
    __syncthreads();
    for (int s = 64; s > 0; s >>= 1) {
        if (threadIdx.x < s) red[threadIdx.x] = fmaxf(red[threadIdx.x], red[threadIdx.x + s]);
        __syncthreads();
    }
    m = red[0];
    __syncthreads();
    float t = 0.f;
    for (int c = threadIdx.x; c < cols; c += 128) t += expf(row[c] - m);
    red[threadIdx.x] = t;
    __syncthreads();
    for (int s = 64; s > 0; s >>= 1) {
        if (threadIdx.x < s) red[threadIdx.x] += red[threadIdx.x + s];
        __syncthreads();
    }
    if (threadIdx.x == 0) y[blockIdx.x] = m + logf(red[0]);
}

torch::Tensor lse_cuda(torch::Tensor x) {
    auto y = torch::empty({x.size(0)}, x.options());
    lse_kernel<<<x.size(0), 128>>>(x.data_ptr<float>(), y.data_ptr<float>(), x.size(1));
    return y;
}
"""

ext = load_inline(
    name="lse_shared",
    cpp_sources="torch::Tensor lse_cuda(torch::Tensor x);",
    cuda_sources=src,
    functions=["lse_cuda"],
)


class ModelNew(nn.Module):
    def forward(self, x):
        return ext.lse_cuda(x)
