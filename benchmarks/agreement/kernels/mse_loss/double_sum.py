"""correct: doubles, and one atomic a warp."""

import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

src = """
#include <torch/extension.h>

__global__ void squared_error(const float* __restrict__ a, const float* __restrict__ b, double* total, int n) {
    double s = 0.0;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        double d = (double)a[i] - b[i];
        s += d * d;
    }
    for (int o = 16; o > 0; o >>= 1) s += __shfl_down_sync(0xffffffff, s, o);
    if (threadIdx.x % 32 == 0) atomicAdd(total, s);
}

torch::Tensor mse(torch::Tensor a, torch::Tensor b) {
    auto total = torch::zeros({}, a.options().dtype(torch::kFloat64));
    squared_error<<<12, 64>>>(a.data_ptr<float>(), b.data_ptr<float>(), total.data_ptr<double>(), a.numel());
    return (total / (double)a.numel()).to(torch::kFloat32);
}
"""

ext = load_inline(name="mse_double", cpp_sources="torch::Tensor mse(torch::Tensor a, torch::Tensor b);", cuda_sources=src, functions=["mse"])


class ModelNew(nn.Module):
    def forward(self, predictions, targets):
        return ext.mse(predictions, targets)
