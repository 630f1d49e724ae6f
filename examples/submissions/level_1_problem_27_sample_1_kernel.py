"""Wrong: it forgets the `- 1` of SELU's negative branch. It compiles, runs, and agrees on every positive input."""

import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

cuda_source = """
#include <torch/extension.h>

__global__ void selu_kernel(const float* x, float* y, long n) {
    long i = blockIdx.x * (long)blockDim.x + threadIdx.x;
    if (i < n) {
        const float scale = 1.0507009873554805f;
        const float alpha = 1.6732632423543772f;
        y[i] = x[i] > 0.0f ? scale * x[i] : scale * alpha * expf(x[i]);
    }
}

torch::Tensor selu(torch::Tensor x) {
    auto y = torch::empty_like(x);
    const long n = x.numel();
    const int threads = 256;
    selu_kernel<<<(n + threads - 1) / threads, threads>>>(x.data_ptr<float>(), y.data_ptr<float>(), n);
    return y;
}
"""

extension = load_inline(
    name="selu_without_minus_one",
    cpp_sources="torch::Tensor selu(torch::Tensor x);",
    cuda_sources=cuda_source,
    functions=["selu"],
)


class ModelNew(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return extension.selu(x)
