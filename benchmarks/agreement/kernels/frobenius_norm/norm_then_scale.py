"""correct: squares summed with atomics, then every element divided."""

import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

fro_source = """
#include <torch/extension.h>
#include <cuda_runtime.h>

__global__ void square_sum(const float* x, float* total, int n) {
    __shared__ float part[256];
    float s = 0.f;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) s += x[i] * x[i];
    part[threadIdx.x] = s;
    __syncthreads();
    for (int k = 128; k >= 1; k >>= 1) {
        if (threadIdx.x < k) part[threadIdx.x] += part[threadIdx.x + k];
        __syncthreads();
    }
    if (threadIdx.x == 0) atomicAdd(total, part[0]);
}

__global__ void divide(const float* x, const float* total, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = x[i] / sqrtf(*total);
}

torch::Tensor frobenius(torch::Tensor x) {
    auto y = torch::empty_like(x);
    auto total = torch::zeros({1}, x.options());
    int n = x.numel();
    square_sum<<<8, 256>>>(x.data_ptr<float>(), total.data_ptr<float>(), n);
    divide<<<(n + 255) / 256, 256>>>(x.data_ptr<float>(), total.data_ptr<float>(), y.data_ptr<float>(), n);
    return y;
}
"""

fro = load_inline(
    name="frobenius_atomic",
    cpp_sources="torch::Tensor frobenius(torch::Tensor x);",
    cuda_sources=fro_source,
    functions=["frobenius"],
)


class ModelNew(nn.Module):
    def forward(self, x):
        return fro.frobenius(x)
