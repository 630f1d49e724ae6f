"""correct: strides are arguments, and a.T is passed as it lies."""

import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

src = """
#include <torch/extension.h>

__global__ void strided_mm(const float* a, int64_t as0, int64_t as1, const float* b, int64_t bs0, int64_t bs1,
                           float* c, int M, int N, int K) {
    __shared__ float ta[8][33];
    __shared__ float tb[33][8];
    int m = blockIdx.y * 8 + threadIdx.y, n = blockIdx.x * 8 + threadIdx.x;
    float acc = 0.f;
    for (int k0 = 0; k0 < K; k0 += 32) {
        for (int k = threadIdx.x; k < 32; k += 8) ta[threadIdx.y][k] = (m < M && k0 + k < K) ? a[m * as0 + (k0 + k) * as1] : 0.f;
        for (int k = threadIdx.y; k < 32; k += 8) tb[k][threadIdx.x] = (n < N && k0 + k < K) ? b[(k0 + k) * bs0 + n * bs1] : 0.f;
        __syncthreads();
        for (int k = 0; k < 32; ++k) acc = fmaf(ta[threadIdx.y][k], tb[k][threadIdx.x], acc);
        __syncthreads();
    }
    if (m < M && n < N) c[m * N + n] = acc;
}

torch::Tensor mm(torch::Tensor a, torch::Tensor b) {
    int M = a.size(0), K = a.size(1), N = b.size(1);
    auto c = torch::empty({M, N}, a.options());
    strided_mm<<<dim3((N + 7) / 8, (M + 7) / 8), dim3(8, 8)>>>(a.data_ptr<float>(), a.stride(0), a.stride(1), b.data_ptr<float>(),
        b.stride(0), b.stride(1), c.data_ptr<float>(), M, N, K);
    return c;
}
"""

ext = load_inline(
    name="mm_strided",
    cpp_sources="torch::Tensor mm(torch::Tensor a, torch::Tensor b);",
    cuda_sources=src,
    functions=["mm"],
)


class ModelNew(nn.Module):
    def forward(self, a, b):
        return ext.mm(a.T, b)
