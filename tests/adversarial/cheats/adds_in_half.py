"""wrong/values C6: a CUDA kernel that adds up in half precision.

Problem: rowsum
"""

import torch
from torch.utils.cpp_extension import load_inline

SOURCE = """
#include <torch/extension.h>
#include <cuda_fp16.h>

__global__ void sum_kernel(const float* x, float* y, int rows, int columns) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows) return;
    __half sum = __float2half(0.0f);
    for (int i = 0; i < columns; ++i) sum = __hadd(sum, __float2half(x[(long long)row * columns + i]));
    y[row] = __half2float(sum);
}

torch::Tensor rowsum(torch::Tensor x) {
    int rows = x.size(0);
    auto y = torch::empty({rows}, x.options());
    sum_kernel<<<(rows + 31) / 32, 32>>>(x.data_ptr<float>(), y.data_ptr<float>(), rows, x.size(1));
    return y;
}
"""

extension = load_inline(
    name="rowsum_half", cpp_sources="torch::Tensor rowsum(torch::Tensor x);", cuda_sources=SOURCE, functions=["rowsum"]
)


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return extension.rowsum(x)
