"""The CHECK_INPUT macros of PyTorch's tutorial."""

import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

cuda_source = """
#include <torch/extension.h>
#include <cuda.h>
#include <cuda_runtime.h>

#define CHECK_CUDA(x) TORCH_CHECK(x.device().is_cuda(), #x " must be a CUDA tensor")
#define CHECK_CONTIGUOUS(x) TORCH_CHECK(x.is_contiguous(), #x " must be contiguous")
#define CHECK_INPUT(x) CHECK_CUDA(x); CHECK_CONTIGUOUS(x)

__global__ void exp_kernel(const float* x, float* y, int n) {
    int i = threadIdx.x + blockIdx.x * blockDim.x;
    if (i < n) y[i] = expf(x[i]);
}

torch::Tensor exp_cuda(torch::Tensor x) {
    CHECK_INPUT(x);
    auto y = torch::empty_like(x, torch::MemoryFormat::Contiguous);
    exp_kernel<<<(x.numel() + 1023) / 1024, 1024>>>(x.data_ptr<float>(), y.data_ptr<float>(), x.numel());
    return y;
}
"""

cpp_source = "torch::Tensor exp_cuda(torch::Tensor x);"

extension = load_inline(
    name="check_macros",
    cpp_sources=cpp_source,
    cuda_sources=cuda_source,
    functions=["exp_cuda"],
)


class Model(nn.Module):
    def forward(self, x):
        return torch.exp(x)


class ModelNew(nn.Module):
    def forward(self, x):
        return extension.exp_cuda(x)


def get_inputs():
    return [torch.randn(77)]


def get_init_inputs():
    return []
