"""wrong: the depth is taken for a multiple of the tile."""

import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

src = """
#include <torch/extension.h>

#define TS 16

__global__ void mm(const float* A, const float* B, float* C, int M, int K, int N) {
    __shared__ float a[TS][TS], b[TS][TS];
    int r = blockIdx.y * TS + threadIdx.y, c = blockIdx.x * TS + threadIdx.x;
    float acc = 0.f;
    for (int t = 0; t < K / TS; t++) {
        a[threadIdx.y][threadIdx.x] = r < M ? A[r * K + t * TS + threadIdx.x] : 0.f;
        b[threadIdx.y][threadIdx.x] = c < N ? B[(t * TS + threadIdx.y) * N + c] : 0.f;
        __syncthreads();
        for (int k = 0; k < TS; k++) acc += a[threadIdx.y][k] * b[k][threadIdx.x];
        __syncthreads();
    }
    if (r < M && c < N) C[r * N + c] = acc;
}

torch::Tensor mm_cuda(torch::Tensor A, torch::Tensor B) {
    int M = A.size(0), K = A.size(1), N = B.size(1);
    auto C = torch::empty({M, N}, A.options());
    mm<<<dim3((N + TS - 1) / TS, (M + TS - 1) / TS), dim3(TS, TS)>>>(A.data_ptr<float>(), B.data_ptr<float>(), C.data_ptr<float>(), M, K, N);
    return C;
}
"""

ext = load_inline(
    name="mm_truncated",
    cpp_sources="torch::Tensor mm_cuda(torch::Tensor A, torch::Tensor B);",
    cuda_sources=src,
    functions=["mm_cuda"],
)


class ModelNew(nn.Module):
    def forward(self, a, b):
        return ext.mm_cuda(a, b)
