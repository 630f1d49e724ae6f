"""failed: the mask of bools is asked for as floats, which torch refuses."""

import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

src = """
#include <torch/extension.h>

__global__ void masked_cumsum(const float* x, const float* mask, float* y, int rows, int n) {
    int row = threadIdx.x;
    if (row >= rows) return;
    float sum = 0.0f;
    for (int i = 0; i < n; i++) {
        sum += x[row * n + i] * mask[row * n + i];
        y[row * n + i] = sum;
    }
}

torch::Tensor run(torch::Tensor x, torch::Tensor mask) {
    auto y = torch::empty_like(x);
    masked_cumsum<<<1, x.size(0)>>>(x.data_ptr<float>(), mask.data_ptr<float>(), y.data_ptr<float>(), x.size(0), x.size(1));
    return y;
}
"""

ext = load_inline(name="masked_cumsum_float", cpp_sources="torch::Tensor run(torch::Tensor x, torch::Tensor mask);", cuda_sources=src, functions=["run"])


class ModelNew(nn.Module):
    def forward(self, x, mask):
        return ext.run(x, mask)
