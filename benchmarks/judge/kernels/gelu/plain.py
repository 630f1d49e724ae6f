"""One thread an element."""

import torch
from torch.utils.cpp_extension import load_inline

SOURCE = """
#include <torch/extension.h>

__global__ void gelu_kernel(const float* x, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        float v = x[i];
        float inner = 0.7978845608f * (v + 0.044715f * v * v * v);
        y[i] = 0.5f * v * (1.0f + tanhf(inner));
    }
}

torch::Tensor gelu(torch::Tensor x) {
    auto y = torch::empty_like(x);
    int n = x.numel();
    int blocks = (n + 255) / 256;
    gelu_kernel<<<blocks, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), n);
    return y;
}
"""

extension = load_inline(
    name="gelu_plain",
    cpp_sources="torch::Tensor gelu(torch::Tensor x);",
    cuda_sources=SOURCE,
    functions=["gelu"],
)


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return extension.gelu(x)
