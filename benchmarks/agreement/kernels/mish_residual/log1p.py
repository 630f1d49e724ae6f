"""correct: log1pf and expf, in one kernel with the sum."""

import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

mish_add_source = """
#include <torch/extension.h>
#include <cuda_runtime.h>

__device__ float softplus(float x) {
    return x > 20.0f ? x : log1pf(expf(x));
}

__global__ void mish_add_kernel(const float* x, const float* y, float* out, int total) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < total) out[i] = x[i] * tanhf(softplus(x[i])) + y[i];
}

torch::Tensor mish_add(torch::Tensor x, torch::Tensor y) {
    TORCH_CHECK(x.sizes() == y.sizes(), "shapes must match");
    auto out = torch::empty_like(x);
    int total = x.numel();
    dim3 block(128);
    dim3 grid((total + block.x - 1) / block.x);
    mish_add_kernel<<<grid, block>>>(x.data_ptr<float>(), y.data_ptr<float>(), out.data_ptr<float>(), total);
    return out;
}
"""

mish_add = load_inline(
    name="mish_add_log1p",
    cpp_sources="torch::Tensor mish_add(torch::Tensor x, torch::Tensor y);",
    cuda_sources=mish_add_source,
    functions=["mish_add"],
)


class ModelNew(nn.Module):
    def forward(self, x, y):
        return mish_add.mish_add(x, y)
