"""correct: only the products that can differ from zero, zeros above the diagonal."""

import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

src = """
#include <torch/extension.h>

__global__ void tril_kernel(const float* A, const float* B, float* C, int N) {
    int col = blockIdx.x * blockDim.x + threadIdx.x;
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    if (row >= N || col >= N) return;
    if (row < col) {
        C[row * N + col] = 0.0f;
        return;
    }
    float sum = 0.0f;
    for (int k = col; k <= row; ++k) sum += A[row * N + k] * B[k * N + col];
    C[row * N + col] = sum;
}

torch::Tensor tril_matmul(torch::Tensor A, torch::Tensor B) {
    int N = A.size(0);
    auto C = torch::empty_like(A);
    dim3 block(16, 16), grid((N + 15) / 16, (N + 15) / 16);
    tril_kernel<<<grid, block>>>(A.data_ptr<float>(), B.data_ptr<float>(), C.data_ptr<float>(), N);
    return C;
}
"""

ext = load_inline(
    name="tril_matmul",
    cpp_sources="torch::Tensor tril_matmul(torch::Tensor A, torch::Tensor B);",
    cuda_sources=src,
    functions=["tril_matmul"],
)


class ModelNew(nn.Module):
    def forward(self, a, b):
        # Inputs need not be triangular in general; the product is taken as the reference takes it.
        return ext.tril_matmul(a, b) if self._triangular(a, b) else torch.tril(torch.matmul(a, b))

    @staticmethod
    def _triangular(a, b):
        return bool(torch.equal(a, torch.tril(a)) and torch.equal(b, torch.tril(b)))
