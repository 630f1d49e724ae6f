"""wrong: the result is written over the second input."""

import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

source = """
#include <torch/extension.h>

__global__ void mish_accumulate(const float* __restrict__ x, float* y, long n) {
    long i = (long)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float v = x[i];
    float sp = v > 20.f ? v : log1pf(expf(v));
    y[i] += v * tanhf(sp);
}

torch::Tensor run(torch::Tensor x, torch::Tensor y) {
    long n = x.numel();
    mish_accumulate<<<(n + 255) / 256, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), n);
    return y;
}
"""

op = load_inline(
    name="mish_in_place",
    cpp_sources="torch::Tensor run(torch::Tensor x, torch::Tensor y);",
    cuda_sources=source,
    functions=["run"],
    extra_cuda_cflags=["-O2"],
)


class ModelNew(nn.Module):
    def forward(self, x, y):
        return op.run(x, y)
