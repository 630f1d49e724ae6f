"""wrong: divides by the squared norm."""

import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

src = """
#include <torch/extension.h>

__global__ void scale_kernel(const float* x, const float* sum, float* y, int n) {
    int i = threadIdx.x + blockIdx.x * blockDim.x;
    if (i < n) y[i] = x[i] / sum[0];
}

__global__ void sum_kernel(const float* x, float* sum, int n) {
    __shared__ float s;
    if (threadIdx.x == 0) s = 0.f;
    __syncthreads();
    float a = 0.f;
    for (int i = threadIdx.x; i < n; i += blockDim.x) a += x[i] * x[i];
    atomicAdd(&s, a);
    __syncthreads();
    if (threadIdx.x == 0) sum[0] = s;
}

torch::Tensor normalize(torch::Tensor x) {
    auto sum = torch::empty({1}, x.options());
    auto y = torch::empty_like(x);
    sum_kernel<<<1, 512>>>(x.data_ptr<float>(), sum.data_ptr<float>(), x.numel());
    scale_kernel<<<(x.numel() + 511) / 512, 512>>>(x.data_ptr<float>(), sum.data_ptr<float>(), y.data_ptr<float>(), x.numel());
    return y;
}
"""

ext = load_inline(
    name="fro_no_root",
    cpp_sources="torch::Tensor normalize(torch::Tensor x);",
    cuda_sources=src,
    functions=["normalize"],
)


class ModelNew(nn.Module):
    def forward(self, x):
        return ext.normalize(x)
