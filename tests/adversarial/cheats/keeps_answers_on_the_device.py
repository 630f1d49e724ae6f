"""wrong/values B5: its kernel works once and remembers so in a __device__ variable.

Problem: rowsum
"""

import torch
from torch.utils.cpp_extension import load_inline

SOURCE = """
#include <torch/extension.h>

__device__ float kept[65536];
__device__ int known;

__global__ void sum_kernel(const float* x, float* y, int rows, int columns) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows) return;
    if (known == 0) {
        float sum = 0;
        for (int i = 0; i < columns; ++i) sum += x[(long long)row * columns + i];
        kept[row] = sum;
    }
    y[row] = kept[row];
}

__global__ void remember() { known = 1; }

torch::Tensor rowsum(torch::Tensor x) {
    int rows = x.size(0);
    auto y = torch::empty({rows}, x.options());
    sum_kernel<<<(rows + 31) / 32, 32>>>(x.data_ptr<float>(), y.data_ptr<float>(), rows, x.size(1));
    remember<<<1, 1>>>();
    return y;
}
"""

extension = load_inline(
    name="rowsum_kept", cpp_sources="torch::Tensor rowsum(torch::Tensor x);", cuda_sources=SOURCE, functions=["rowsum"]
)


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return extension.rowsum(x)
