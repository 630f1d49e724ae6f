"""Functors passed as template arguments, three functions exported."""

import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

cuda_source = """
#include <torch/extension.h>

struct Relu { __device__ float operator()(float v) const { return v > 0.f ? v : 0.f; } };
struct Abs { __device__ float operator()(float v) const { return fabsf(v); } };
struct Square { __device__ float operator()(float v) const { return v * v; } };

template <typename Op>
__global__ void map_kernel(const float* x, float* y, int64_t n, Op op) {
    int64_t i = blockIdx.x * static_cast<int64_t>(blockDim.x) + threadIdx.x;
    if (i < n) y[i] = op(x[i]);
}

template <typename Op>
torch::Tensor map(const torch::Tensor& x, Op op) {
    auto y = torch::empty_like(x);
    map_kernel<<<(x.numel() + 255) / 256, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), x.numel(), op);
    return y;
}

torch::Tensor relu(torch::Tensor x) { return map(x, Relu()); }
torch::Tensor absolute(torch::Tensor x) { return map(x, Abs()); }
torch::Tensor square(torch::Tensor x) { return map(x, Square()); }
"""

cpp_source = """
torch::Tensor relu(torch::Tensor x);
torch::Tensor absolute(torch::Tensor x);
torch::Tensor square(torch::Tensor x);
"""

extension = load_inline(
    name="functor_templates",
    cpp_sources=cpp_source,
    cuda_sources=cuda_source,
    functions=["relu", "absolute", "square"],
)


class Model(nn.Module):
    def forward(self, x):
        return torch.relu(x) + torch.abs(x) + x * x


class ModelNew(nn.Module):
    def forward(self, x):
        return extension.relu(x) + extension.absolute(x) + extension.square(x)


def get_inputs():
    return [torch.randn(333)]


def get_init_inputs():
    return []
