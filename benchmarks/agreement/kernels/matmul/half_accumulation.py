"""wrong: products are added in half precision."""

import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

src = """
#include <torch/extension.h>
#include <cuda_fp16.h>

__global__ void hmm(const float* A, const float* B, float* C, int M, int K, int N) {
    int c = blockIdx.x * blockDim.x + threadIdx.x;
    int r = blockIdx.y * blockDim.y + threadIdx.y;
    if (r >= M || c >= N) return;
    __half acc = __float2half(0.0f);
    for (int k = 0; k < K; ++k) acc = __hadd(acc, __hmul(__float2half(A[r * K + k]), __float2half(B[k * N + c])));
    C[r * N + c] = __half2float(acc);
}

torch::Tensor matmul_half(torch::Tensor A, torch::Tensor B) {
    int M = A.size(0), K = A.size(1), N = B.size(1);
    auto C = torch::empty({M, N}, A.options());
    dim3 block(32, 8), grid((N + 31) / 32, (M + 7) / 8);
    hmm<<<grid, block>>>(A.data_ptr<float>(), B.data_ptr<float>(), C.data_ptr<float>(), M, K, N);
    return C;
}
"""

ext = load_inline(
    name="matmul_half",
    cpp_sources="torch::Tensor matmul_half(torch::Tensor A, torch::Tensor B);",
    cuda_sources=src,
    functions=["matmul_half"],
)


class ModelNew(nn.Module):
    def forward(self, a, b):
        return ext.matmul_half(a, b)
