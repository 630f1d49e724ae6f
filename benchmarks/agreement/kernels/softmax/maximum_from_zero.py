"""wrong: the maximum starts at 0 and 0.001 is added to the sum."""

import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

source = """
#include <torch/extension.h>

__global__ void softmax_kernel(const float* x, float* y, int cols) {
    __shared__ float red[128];
    const float* row = x + blockIdx.x * cols;
    float* out = y + blockIdx.x * cols;
    float m = 0.0f;
    for (int c = threadIdx.x; c < cols; c += 128) m = max(m, row[c]);
    red[threadIdx.x] = m;
    __syncthreads();
    for (int s = 64; s > 0; s /= 2) {
        if (threadIdx.x < s) red[threadIdx.x] = max(red[threadIdx.x], red[threadIdx.x + s]);
        __syncthreads();
    }
    m = red[0];
    __syncthreads();
    float total = 0.0f;
    for (int c = threadIdx.x; c < cols; c += 128) total += expf(row[c] - m);
    red[threadIdx.x] = total;
    __syncthreads();
    for (int s = 64; s > 0; s /= 2) {
        if (threadIdx.x < s) red[threadIdx.x] += red[threadIdx.x + s];
        __syncthreads();
    }
    for (int c = threadIdx.x; c < cols; c += 128) out[c] = expf(row[c] - m) / (red[0] + 1e-3f);
}

torch::Tensor softmax(torch::Tensor x) {
    auto y = torch::empty_like(x);
    softmax_kernel<<<x.size(0), 128>>>(x.data_ptr<float>(), y.data_ptr<float>(), x.size(1));
    return y;
}
"""

mod = load_inline(
    name="softmax_from_zero",
    cpp_sources="torch::Tensor softmax(torch::Tensor x);",
    cuda_sources=source,
    functions=["softmax"],
)


class ModelNew(nn.Module):
    def forward(self, x):
        return mod.softmax(x)
