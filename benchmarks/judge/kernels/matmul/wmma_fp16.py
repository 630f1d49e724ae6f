"""Tensor cores by wmma, added up in float; asked in fp16. Sizes are padded to the tile and cut again."""

import torch
from torch.utils.cpp_extension import load_inline

SOURCE = """
#include <torch/extension.h>
#include <cuda_fp16.h>
#include <mma.h>

using namespace nvcuda;

__global__ void matmul_kernel(const __half* a, const __half* b, __half* c, int n, int k) {
    __shared__ float tile[16 * 16];
    int row = blockIdx.y * 16, col = blockIdx.x * 16;
    wmma::fragment<wmma::matrix_a, 16, 16, 16, __half, wmma::row_major> left;
    wmma::fragment<wmma::matrix_b, 16, 16, 16, __half, wmma::row_major> right;
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> sum;
    wmma::fill_fragment(sum, 0.0f);
    for (int i = 0; i < k; i += 16) {
        wmma::load_matrix_sync(left, a + row * k + i, k);
        wmma::load_matrix_sync(right, b + i * n + col, n);
        wmma::mma_sync(sum, left, right, sum);
    }
    wmma::store_matrix_sync(tile, sum, 16, wmma::mem_row_major);
    __syncwarp();
    for (int i = threadIdx.x; i < 256; i += 32) c[(row + i / 16) * n + col + i % 16] = __float2half(tile[i]);
}

torch::Tensor matmul(torch::Tensor a, torch::Tensor b) {
    int m = a.size(0), k = a.size(1), n = b.size(1);
    auto c = torch::empty({m, n}, a.options());
    matmul_kernel<<<dim3(n / 16, m / 16), 32>>>(reinterpret_cast<const __half*>(a.data_ptr<at::Half>()),
                                                reinterpret_cast<const __half*>(b.data_ptr<at::Half>()),
                                                reinterpret_cast<__half*>(c.data_ptr<at::Half>()), n, k);
    return c;
}
"""

extension = load_inline(
    name="matmul_wmma",
    cpp_sources="torch::Tensor matmul(torch::Tensor a, torch::Tensor b);",
    cuda_sources=SOURCE,
    functions=["matmul"],
)


def padded(x):
    return torch.nn.functional.pad(x, (0, -x.shape[1] % 16, 0, -x.shape[0] % 16)).contiguous()


class ModelNew(torch.nn.Module):
    def forward(self, a, b):
        return extension.matmul(padded(a), padded(b))[: a.shape[0], : b.shape[1]].contiguous()
