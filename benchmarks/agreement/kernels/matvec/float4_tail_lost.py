"""wrong: groups of four drop the last column of each row."""

import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

src = """
#include <torch/extension.h>

__global__ void gemv4(const float* A, const float* v, float* y, int M, int K) {
    int row = blockIdx.x;
    float s = 0.f;
    for (int q = threadIdx.x; q < K / 4; q += blockDim.x) {
        const float* a = A + row * K + 4 * q;
        s += a[0] * v[4 * q] + a[1] * v[4 * q + 1] + a[2] * v[4 * q + 2] + a[3] * v[4 * q + 3];
    }
    __shared__ float buf[64];
    buf[threadIdx.x] = s;
    __syncthreads();
    for (int k = 32; k > 0; k >>= 1) {
        if (threadIdx.x < k) buf[threadIdx.x] += buf[threadIdx.x + k];
        __syncthreads();
    }
    if (threadIdx.x == 0) y[row] = buf[0];
}

torch::Tensor gemv(torch::Tensor A, torch::Tensor v) {
    auto y = torch::empty({A.size(0), 1}, A.options());
    gemv4<<<A.size(0), 64>>>(A.data_ptr<float>(), v.data_ptr<float>(), y.data_ptr<float>(), A.size(0), A.size(1));
    return y;
}
"""

ext = load_inline(
    name="gemv4",
    cpp_sources="torch::Tensor gemv(torch::Tensor A, torch::Tensor v);",
    cuda_sources=src,
    functions=["gemv"],
)


class ModelNew(nn.Module):
    def forward(self, a, v):
        return ext.gemv(a, v)
