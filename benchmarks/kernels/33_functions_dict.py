"""Docstrings by a dict, sources as lists, default arguments in the declaration."""

import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

cuda_source = """
#include <torch/extension.h>

__global__ void axpb(const float* x, float* y, float a, float b, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = a * x[i] + b;
}

torch::Tensor affine(torch::Tensor x, float a, float b) {
    auto y = torch::empty(x.sizes(), x.options());
    axpb<<<(x.numel() + 63) / 64, 64>>>(x.data_ptr<float>(), y.data_ptr<float>(), a, b, x.numel());
    return y;
}
"""

cpp_source = "torch::Tensor affine(torch::Tensor x, float a = 1.0f, float b = 0.0f);"

extension = load_inline(
    name="functions_dict",
    cpp_sources=cpp_source,
    cuda_sources=cuda_source,
    functions={"affine": "a x + b"},
    with_cuda=True,
)


class Model(nn.Module):
    def forward(self, x):
        return x * 2 + 1


class ModelNew(nn.Module):
    def forward(self, x):
        return extension.affine(x, 2.0, 1.0)


def get_inputs():
    return [torch.randn(90)]


def get_init_inputs():
    return []
