"""Convolution by torch::nn::functional, then slices and index_put_ around a kernel."""

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.cpp_extension import load_inline

cuda_source = """
#include <torch/extension.h>

namespace nnf = torch::nn::functional;
using namespace torch::indexing;

__global__ void square_kernel(const float* x, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = x[i] * x[i];
}

torch::Tensor edges(torch::Tensor x, torch::Tensor weight) {
    c10::InferenceMode guard;
    auto c = nnf::conv2d(x, weight, nnf::Conv2dFuncOptions().padding(1).stride(2));
    c = nnf::pad(c, nnf::PadFuncOptions({1, 0, 1, 0}).mode(torch::kConstant).value(1.5));
    c = c.index({Slice(), Slice(None, None, 2), Ellipsis}).contiguous();
    auto y = torch::empty_like(c);
    int n = c.numel();
    square_kernel<<<(n + 127) / 128, 128>>>(c.data_ptr<float>(), y.data_ptr<float>(), n);
    y.index_put_({0, Slice(1)}, -1);
    return y;
}
"""

cpp_source = "torch::Tensor edges(torch::Tensor x, torch::Tensor weight);"

extension = load_inline(name="functional_index", cpp_sources=cpp_source, cuda_sources=cuda_source, functions=["edges"])


class Model(nn.Module):
    def forward(self, x, weight):
        y = F.pad(F.conv2d(x, weight, padding=1, stride=2), (1, 0, 1, 0), value=1.5)[:, ::2] ** 2
        y[0, 1:] = -1
        return y


class ModelNew(nn.Module):
    def forward(self, x, weight):
        return extension.edges(x, weight)


def get_inputs():
    return [torch.randn(2, 3, 9, 9), torch.randn(4, 3, 3, 3)]


def get_init_inputs():
    return []
