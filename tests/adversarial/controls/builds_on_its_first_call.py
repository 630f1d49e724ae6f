"""correct control: compiles when it is called for the first time."""

import torch
from torch.utils.cpp_extension import load_inline

SOURCE = """
#include <torch/extension.h>

__global__ void relu_kernel(const float* x, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = fmaxf(x[i], 0.0f);
}

torch::Tensor relu(torch::Tensor x) {
    auto y = torch::empty_like(x);
    int n = x.numel();
    relu_kernel<<<(n + 127) / 128, 128>>>(x.data_ptr<float>(), y.data_ptr<float>(), n);
    return y;
}
"""
_extension = None


def extension():
    global _extension
    if _extension is None:
        _extension = load_inline(
            name="relu_lazy",
            cpp_sources="torch::Tensor relu(torch::Tensor x);",
            cuda_sources=SOURCE,
            functions=["relu"],
        )
    return _extension


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return extension().relu(x)
