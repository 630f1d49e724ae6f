"""Weights packed once in the constructor: transposed, the bias as their last row."""

import torch
from torch.utils.cpp_extension import load_inline

SOURCE = """
#include <torch/extension.h>

__global__ void linear_kernel(const float* __restrict__ x, const float* __restrict__ packed, float* y, int m, int n,
                              int k) {
    extern __shared__ float row[];
    x += (size_t)blockIdx.x * k;
    for (int i = threadIdx.x; i < k; i += blockDim.x) row[i] = x[i];
    __syncthreads();
    for (int col = threadIdx.x; col < n; col += blockDim.x) {
        float sum = packed[(size_t)k * n + col];
        for (int i = 0; i < k; ++i) sum = fmaf(row[i], packed[(size_t)i * n + col], sum);
        y[(size_t)blockIdx.x * n + col] = sum > 0.0f ? sum : 0.01f * sum;
    }
}

torch::Tensor linear(torch::Tensor x, torch::Tensor packed) {
    int m = x.size(0), k = x.size(1), n = packed.size(1);
    auto y = torch::empty({m, n}, x.options());
    linear_kernel<<<m, 128, k * sizeof(float)>>>(x.data_ptr<float>(), packed.data_ptr<float>(), y.data_ptr<float>(),
                                                 m, n, k);
    return y;
}
"""

extension = load_inline(
    name="linear_packed",
    cpp_sources="torch::Tensor linear(torch::Tensor x, torch::Tensor packed);",
    cuda_sources=SOURCE,
    functions=["linear"],
)


class ModelNew(torch.nn.Module):
    def __init__(self, dim):
        super().__init__()
        layer = torch.nn.Linear(dim, dim)
        packed = torch.cat([layer.weight.detach().t(), layer.bias.detach()[None]])
        self.register_buffer("packed", packed.contiguous())

    def forward(self, x):
        return extension.linear(x, self.packed)
