"""correct: all products below the diagonal, whatever the factors are."""

import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

src = """
#include <torch/extension.h>

__global__ void tril_mm(const float* __restrict__ A, const float* __restrict__ B, float* __restrict__ C, int N) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < N * N; i += gridDim.x * blockDim.x) {
        const int r = i / N, c = i % N;
        float acc = 0.f;
        if (c <= r) {
            #pragma unroll 4
            for (int k = 0; k < N; ++k) acc += A[r * N + k] * B[k * N + c];
        }
        C[i] = acc;
    }
}

at::Tensor tril_mm_cuda(const at::Tensor& A, const at::Tensor& B) {
    auto C = at::empty_like(A);
    tril_mm<<<17, 96>>>(A.const_data_ptr<float>(), B.const_data_ptr<float>(), C.mutable_data_ptr<float>(), A.size(0));
    return C;
}
"""

ext = load_inline(
    name="tril_full",
    cpp_sources="at::Tensor tril_mm_cuda(const at::Tensor& A, const at::Tensor& B);",
    cuda_sources=src,
    functions=["tril_mm_cuda"],
)


class ModelNew(nn.Module):
    def forward(self, a, b):
        return ext.tril_mm_cuda(a, b)
