"""correct: tanhf, two elements a thread, fast math."""

import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

gelu_cuda = """
#include <torch/extension.h>
#include <math.h>

#define ITEMS 2

__global__ void gelu_kernel(const float* __restrict__ x, float* __restrict__ y, const int size) {
    const int base = (blockIdx.x * blockDim.x) * ITEMS + threadIdx.x;
    #pragma unroll
    for (int k = 0; k < ITEMS; k++) {
        const int idx = base + k * blockDim.x;
        if (idx < size) {
            const float v = x[idx];
            const float cube = v * v * v;
            const float inner = 0.7978845608f * (v + 0.044715f * cube);
            y[idx] = 0.5f * v * (1.0f + tanhf(inner));
        }
    }
}

torch::Tensor gelu(torch::Tensor x) {
    auto y = torch::empty_like(x);
    const int size = x.numel();
    const int threads = 192;
    const int per_block = threads * ITEMS;
    gelu_kernel<<<(size + per_block - 1) / per_block, threads>>>(x.data_ptr<float>(), y.data_ptr<float>(), size);
    return y;
}
"""

gelu_ext = load_inline(
    name="gelu_fast_math",
    cpp_sources="torch::Tensor gelu(torch::Tensor x);",
    cuda_sources=gelu_cuda,
    functions=["gelu"],
    extra_cuda_cflags=["-O3", "--use_fast_math"],
)


class ModelNew(nn.Module):
    def forward(self, x):
        return gelu_ext.gelu(x)
