"""correct: four rows a thread in registers."""

import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

src = """
#include <torch/extension.h>

template <int BM, int BN, int BK, int TM>
__global__ void sgemm(const float* __restrict__ A, const float* __restrict__ B, float* __restrict__ C, int M, int N, int K) {
    __shared__ float sA[BM * BK];
    __shared__ float sB[BK * BN];
    const int tcol = threadIdx.x % BN;
    const int trow = threadIdx.x / BN;
    const int row0 = blockIdx.y * BM, col0 = blockIdx.x * BN;
    float acc[TM] = {0.0f};
    for (int k0 = 0; k0 < K; k0 += BK) {
        for (int i = threadIdx.x; i < BM * BK; i += blockDim.x) {
            int r = i / BK, c = i % BK;
            sA[i] = (row0 + r < M && k0 + c < K) ? A[(row0 + r) * K + k0 + c] : 0.0f;
        }
        for (int i = threadIdx.x; i < BK * BN; i += blockDim.x) {
            int r = i / BN, c = i % BN;
            sB[i] = (k0 + r < K && col0 + c < N) ? B[(k0 + r) * N + col0 + c] : 0.0f;
        }
        __syncthreads();
        #pragma unroll
        for (int k = 0; k < BK; ++k) {
            const float b = sB[k * BN + tcol];
            #pragma unroll
            for (int m = 0; m < TM; ++m) acc[m] += sA[(trow * TM + m) * BK + k] * b;
        }
        __syncthreads();
    }
    #pragma unroll
    for (int m = 0; m < TM; ++m) {
        const int r = row0 + trow * TM + m, c = col0 + tcol;
        if (r < M && c < N) C[r * N + c] = acc[m];
    }
}

torch::Tensor gemm(torch::Tensor A, torch::Tensor B) {
    const int M = A.size(0), K = A.size(1), N = B.size(1);
    auto C = torch::empty({M, N}, A.options());
    constexpr int BM = 32, BN = 32, BK = 8, TM = 4;
    dim3 grid((N + BN - 1) / BN, (M + BM - 1) / BM);
    sgemm<BM, BN, BK, TM><<<grid, BM * BN / TM>>>(A.data_ptr<float>(), B.data_ptr<float>(), C.data_ptr<float>(), M, N, K);
    return C;
}
"""

gemm_ext = load_inline(
    name="sgemm_registers",
    cpp_sources="torch::Tensor gemm(torch::Tensor A, torch::Tensor B);",
    cuda_sources=src,
    functions=["gemm"],
    extra_cuda_cflags=["-O3", "-std=c++17"],
)


class ModelNew(nn.Module):
    def forward(self, a, b):
        return gemm_ext.gemm(a.contiguous(), b.contiguous())
