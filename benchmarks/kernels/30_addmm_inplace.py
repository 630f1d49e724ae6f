"""In-place methods, operators of tensors, scalars."""

import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

cuda_source = """
#include <torch/extension.h>

__global__ void clamp_kernel(float* x, float lo, float hi, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] = fminf(fmaxf(x[i], lo), hi);
}

torch::Tensor forward(torch::Tensor x, torch::Tensor w, torch::Tensor b, float lo, float hi) {
    torch::NoGradGuard no_grad;
    auto y = torch::addmm(b, x, w);
    y.mul_(0.5);
    y = y + 3;
    clamp_kernel<<<(y.numel() + 31) / 32, 32>>>(y.data_ptr<float>(), lo, hi, y.numel());
    return y;
}
"""

cpp_source = "torch::Tensor forward(torch::Tensor x, torch::Tensor w, torch::Tensor b, float lo, float hi);"

extension = load_inline(
    name="addmm_inplace",
    cpp_sources=cpp_source,
    cuda_sources=cuda_source,
    functions=["forward"],
)


class Model(nn.Module):
    def forward(self, x, w, b):
        return (torch.addmm(b, x, w) * 0.5 + 3).clamp(-1, 4)


class ModelNew(nn.Module):
    def forward(self, x, w, b):
        return extension.forward(x, w, b, -1.0, 4.0)


def get_inputs():
    return [torch.randn(10, 6), torch.randn(6, 9), torch.randn(9)]


def get_init_inputs():
    return []
