"""correct: a thread multiplies down a column."""

import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

src = """
#include <torch/extension.h>

template <typename T>
__global__ void cumprod_dim0(const T* __restrict__ x, T* __restrict__ y, int rows, int cols) {
    const int c = blockIdx.x * blockDim.x + threadIdx.x;
    if (c >= cols) return;
    T p = T(1);
    for (int r = 0; r < rows; ++r) {
        p *= x[r * cols + c];
        y[r * cols + c] = p;
    }
}

torch::Tensor cumprod(torch::Tensor x) {
    auto y = torch::empty_like(x);
    AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), "cumprod", [&] {
        cumprod_dim0<scalar_t><<<(x.size(1) + 15) / 16, 16>>>(x.data_ptr<scalar_t>(), y.data_ptr<scalar_t>(), x.size(0), x.size(1));
    });
    return y;
}
"""

ext = load_inline(name="cumprod_columns", cpp_sources="torch::Tensor cumprod(torch::Tensor x);", cuda_sources=src, functions=["cumprod"])


class ModelNew(nn.Module):
    def forward(self, x):
        return ext.cumprod(x)
