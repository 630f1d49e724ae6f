"""wrong: the second factor of the first batch is used for all."""

import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

src = """
#include <torch/extension.h>

__global__ void bmm_kernel(const float* A, const float* B, float* C, int batch, int M, int K, int N) {
    int idx = blockIdx.x * blockDim.x + threadIdx.x;
    if (idx >= batch * M * N) return;
    int n = idx % N;
    int m = (idx / N) % M;
    int b = idx / (M * N);
    float acc = 0.f;
    for (int k = 0; k < K; ++k) acc += A[(b * M + m) * K + k] * B[k * N + n];
    C[idx] = acc;
}

torch::Tensor bmm_cuda(torch::Tensor A, torch::Tensor B) {
    int batch = A.size(0), M = A.size(1), K = A.size(2), N = B.size(2);
    auto C = torch::empty({batch, M, N}, A.options());
    int total = batch * M * N;
    bmm_kernel<<<(total + 255) / 256, 256>>>(A.data_ptr<float>(), B.data_ptr<float>(), C.data_ptr<float>(), batch, M, K, N);
    return C;
}
"""

ext = load_inline(
    name="bmm_first",
    cpp_sources="torch::Tensor bmm_cuda(torch::Tensor A, torch::Tensor B);",
    cuda_sources=src,
    functions=["bmm_cuda"],
)


class ModelNew(nn.Module):
    def forward(self, a, b):
        return ext.bmm_cuda(a, b)
