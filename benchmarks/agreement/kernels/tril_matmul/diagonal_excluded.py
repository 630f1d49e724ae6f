"""wrong: the diagonal is left out."""

import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

src = """
#include <torch/extension.h>

__global__ void tril_mm(const float* A, const float* B, float* C, int N) {
    int r = blockIdx.y * blockDim.y + threadIdx.y;
    int c = blockIdx.x * blockDim.x + threadIdx.x;
    if (r < N && c < N) {
        float acc = 0.f;
        if (c < r)
            for (int k = 0; k < N; ++k) acc += A[r * N + k] * B[k * N + c];
        C[r * N + c] = acc;
    }
}

torch::Tensor tril_mm_cuda(torch::Tensor A, torch::Tensor B) {
    int N = A.size(0);
    auto C = torch::zeros({N, N}, A.options());
    dim3 block(32, 32);
    tril_mm<<<dim3((N + 31) / 32, (N + 31) / 32), block>>>(A.data_ptr<float>(), B.data_ptr<float>(), C.data_ptr<float>(), N);
    return C;
}
"""

ext = load_inline(
    name="tril_strict",
    cpp_sources="torch::Tensor tril_mm_cuda(torch::Tensor A, torch::Tensor B);",
    cuda_sources=src,
    functions=["tril_mm_cuda"],
)


class ModelNew(nn.Module):
    def forward(self, a, b):
        return ext.tril_mm_cuda(a, b)
