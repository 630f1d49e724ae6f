"""torch::nn::functional in the wrapper."""

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.cpp_extension import load_inline

cuda_source = """
#include <torch/extension.h>

__global__ void copy_kernel(const float* x, float* y, int n) {
    int i = threadIdx.x;
    if (i < n) y[i] = x[i];
}

torch::Tensor softplus(torch::Tensor x) {
    auto y = torch::empty_like(x);
    copy_kernel<<<1, 32>>>(x.data_ptr<float>(), y.data_ptr<float>(), x.numel());
    return torch::nn::functional::softplus(y);
}
"""

cpp_source = "torch::Tensor softplus(torch::Tensor x);"

extension = load_inline(
    name="nn_functional",
    cpp_sources=cpp_source,
    cuda_sources=cuda_source,
    functions=["softplus"],
)


class Model(nn.Module):
    def forward(self, x):
        return F.softplus(x)


class ModelNew(nn.Module):
    def forward(self, x):
        return extension.softplus(x)


def get_inputs():
    return [torch.randn(31)]


def get_init_inputs():
    return []
