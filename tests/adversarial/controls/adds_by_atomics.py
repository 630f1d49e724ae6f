"""correct control: sums by atomicAdd, so that no two runs agree to the last bit.

Problem: rowsum
"""

import torch
from torch.utils.cpp_extension import load_inline

SOURCE = """
#include <torch/extension.h>

__global__ void sum_kernel(const float* x, float* y, int columns) {
    float sum = 0;
    for (int i = threadIdx.x; i < columns; i += blockDim.x) sum += x[(long long)blockIdx.x * columns + i];
    atomicAdd(&y[blockIdx.x], sum);
}

torch::Tensor rowsum(torch::Tensor x) {
    auto y = torch::zeros({x.size(0)}, x.options());
    sum_kernel<<<x.size(0), 128>>>(x.data_ptr<float>(), y.data_ptr<float>(), x.size(1));
    return y;
}
"""

extension = load_inline(
    name="rowsum", cpp_sources="torch::Tensor rowsum(torch::Tensor x);", cuda_sources=SOURCE, functions=["rowsum"]
)


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return extension.rowsum(x)
