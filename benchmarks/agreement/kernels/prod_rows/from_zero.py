"""wrong: the product starts at 0."""

import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

src = """
#include <torch/extension.h>

template <typename scalar_t>
__global__ void prod_kernel(const scalar_t* x, scalar_t* y, int64_t rows, int64_t cols) {
    const int64_t r = blockIdx.x * blockDim.x + threadIdx.x;
    if (r >= rows) return;
    scalar_t acc = 0;
    for (int64_t c = 0; c < cols; ++c) acc *= x[r * cols + c];
    y[r] = acc;
}

torch::Tensor prod_cuda(torch::Tensor x) {
    auto y = torch::empty({x.size(0)}, x.options());
    AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), "prod_cuda", [&] {
        prod_kernel<scalar_t><<<(x.size(0) + 127) / 128, 128>>>(x.data_ptr<scalar_t>(), y.data_ptr<scalar_t>(), x.size(0), x.size(1));
    });
    return y;
}
"""

ext = load_inline(
    name="prod_from_zero",
    cpp_sources="torch::Tensor prod_cuda(torch::Tensor x);",
    cuda_sources=src,
    functions=["prod_cuda"],
)


class ModelNew(nn.Module):
    def forward(self, x):
        return ext.prod_cuda(x)
