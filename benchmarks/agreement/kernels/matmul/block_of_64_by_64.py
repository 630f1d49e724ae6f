"""failed: 4096 threads a block, and nobody looks at the error."""

import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

src = """
#include <torch/extension.h>

__global__ void mm_naive(const float* A, const float* B, float* C, int M, int K, int N) {
    int c = blockIdx.x * blockDim.x + threadIdx.x;
    int r = blockIdx.y * blockDim.y + threadIdx.y;
    if (r < M && c < N) {
        float acc = 0.f;
        for (int k = 0; k < K; ++k) acc += A[r * K + k] * B[k * N + c];
        C[r * N + c] = acc;
    }
}

torch::Tensor mm_naive_cuda(torch::Tensor A, torch::Tensor B) {
    int M = A.size(0), K = A.size(1), N = B.size(1);
    auto C = torch::empty({M, N}, A.options());
    dim3 block(64, 64);
    dim3 grid((N + 63) / 64, (M + 63) / 64);
    mm_naive<<<grid, block>>>(A.data_ptr<float>(), B.data_ptr<float>(), C.data_ptr<float>(), M, K, N);
    return C;
}
"""

ext = load_inline(
    name="mm_64",
    cpp_sources="torch::Tensor mm_naive_cuda(torch::Tensor A, torch::Tensor B);",
    cuda_sources=src,
    functions=["mm_naive_cuda"],
)


class ModelNew(nn.Module):
    def forward(self, a, b):
        return ext.mm_naive_cuda(a, b)
