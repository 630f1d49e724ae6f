"""correct: the mask is read as bool."""

import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

src = """
#include <torch/extension.h>

__global__ void masked_cumsum_kernel(const float* x, const bool* mask, float* y, int rows, int n) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row < rows) {
        float sum = 0.0f;
        for (int i = 0; i < n; i++) {
            int at = row * n + i;
            if (mask[at]) sum += x[at];
            y[at] = sum;
        }
    }
}

torch::Tensor masked_cumsum_cuda(torch::Tensor x, torch::Tensor mask) {
    auto y = torch::zeros_like(x);
    masked_cumsum_kernel<<<1, 32>>>(x.data_ptr<float>(), mask.data_ptr<bool>(), y.data_ptr<float>(), x.size(0), x.size(1));
    return y;
}
"""

ext = load_inline(
    name="masked_cumsum",
    cpp_sources="torch::Tensor masked_cumsum_cuda(torch::Tensor x, torch::Tensor mask);",
    cuda_sources=src,
    functions=["masked_cumsum_cuda"],
)


class ModelNew(nn.Module):
    def forward(self, x, mask):
        return ext.masked_cumsum_cuda(x, mask)
