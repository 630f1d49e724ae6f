"""wrong: the maximum of a row of negative numbers is 0."""

import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

src = """
#include <torch/extension.h>

__global__ void max_kernel(const float* x, float* y, int rows, int cols) {
    int r = blockIdx.x * blockDim.x + threadIdx.x;
    if (r < rows) {
        float m = 0.0f;
        for (int c = 0; c < cols; c++) {
            float v = x[r * cols + c];
            if (v > m) m = v;
        }
        y[r] = m;
    }
}

torch::Tensor max_cuda(torch::Tensor x) {
    auto y = torch::empty({x.size(0), x.size(1)}, x.options());
    int rows = y.numel();
    max_kernel<<<(rows + 63) / 64, 64>>>(x.data_ptr<float>(), y.data_ptr<float>(), rows, x.size(2));
    return y;
}
"""

op = load_inline(
    name="max_from_zero",
    cpp_sources="torch::Tensor max_cuda(torch::Tensor x);",
    cuda_sources=src,
    functions=["max_cuda"],
)


class ModelNew(nn.Module):
    def forward(self, x):
        return op.max_cuda(x)
