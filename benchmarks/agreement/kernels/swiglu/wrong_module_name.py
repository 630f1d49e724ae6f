"""failed: forward() names a module that is not there."""

import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

swiglu_source = """
#include <torch/extension.h>

__global__ void swiglu_kernel(const float* x, float* y, int total, int hidden) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= total) return;
    int r = i / hidden, c = i % hidden;
    float g = x[r * 2 * hidden + c];
    y[i] = g / (1.0f + expf(-g)) * x[r * 2 * hidden + hidden + c];
}

torch::Tensor swiglu_cuda(torch::Tensor x) {
    int hidden = x.size(1) / 2;
    auto y = torch::empty({x.size(0), hidden}, x.options());
    swiglu_kernel<<<(y.numel() + 255) / 256, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), y.numel(), hidden);
    return y;
}
"""

swiglu_module = load_inline(
    name="swiglu_renamed",
    cpp_sources="torch::Tensor swiglu_cuda(torch::Tensor x);",
    cuda_sources=swiglu_source,
    functions=["swiglu_cuda"],
)


class ModelNew(nn.Module):
    def forward(self, x):
        return swiglu_extension.swiglu_cuda(x)
