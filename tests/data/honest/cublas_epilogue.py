"""Keeps cuBLAS for the product and fuses the rest."""

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.cpp_extension import load_inline

source = r"""
#include <torch/extension.h>
#include <ATen/cuda/CUDAContext.h>
#include <cublas_v2.h>
__global__ void epilogue(float* y, const float* b, int n, int m) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = fmaxf(y[i] + b[i % m], 0.0f);
}
torch::Tensor linear_relu(torch::Tensor x, torch::Tensor w, torch::Tensor b) {
    auto y = at::matmul(x, w.t());
    auto stream = at::cuda::getCurrentCUDAStream();
    epilogue<<<(y.numel() + 255) / 256, 256, 0, stream>>>(y.data_ptr<float>(), b.data_ptr<float>(), y.numel(), b.numel());
    return y;
}
"""
_ext = None


def ext():
    global _ext
    if _ext is None:
        _ext = load_inline("linear_relu", "torch::Tensor linear_relu(torch::Tensor, torch::Tensor, torch::Tensor);",
                           source, functions=["linear_relu"], with_cuda=True)
    return _ext


class ModelNew(nn.Module):
    def __init__(self, n, m):
        super().__init__()
        self.gemm = nn.Linear(n, m)

    def forward(self, x):
        return ext().linear_relu(x, self.gemm.weight, self.gemm.bias)


def check(x):
    torch.backends.cuda.matmul.allow_tf32 = False
    torch.testing.assert_close(ModelNew(4, 4)(x), F.relu(x))
