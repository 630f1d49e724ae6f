"""correct: pairs of halves with fused operations, and the last one alone."""

import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

src = """
#include <torch/extension.h>
#include <cuda_fp16.h>

__global__ void axpy2(const __half* __restrict__ x, const __half* __restrict__ y, __half* __restrict__ out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    const __half2 a = __float2half2_rn(2.5f);
    if (2 * i + 1 < n) {
        const __half2 v = reinterpret_cast<const __half2*>(x)[i];
        const __half2 w = reinterpret_cast<const __half2*>(y)[i];
        reinterpret_cast<__half2*>(out)[i] = __hfma2(a, v, w);
    } else if (2 * i < n) {
        out[2 * i] = __hfma(__float2half(2.5f), x[2 * i], y[2 * i]);
    }
}

torch::Tensor axpy(torch::Tensor x, torch::Tensor y) {
    auto xh = x.to(torch::kFloat16).contiguous();
    auto yh = y.to(torch::kFloat16).contiguous();
    auto out = torch::empty_like(xh);
    const int n = xh.numel(), pairs = (n + 1) / 2;
    axpy2<<<(pairs + 127) / 128, 128>>>(reinterpret_cast<const __half*>(xh.data_ptr<at::Half>()),
                                        reinterpret_cast<const __half*>(yh.data_ptr<at::Half>()),
                                        reinterpret_cast<__half*>(out.data_ptr<at::Half>()), n);
    return out;
}
"""

ext = load_inline(name="axpy2", cpp_sources="torch::Tensor axpy(torch::Tensor x, torch::Tensor y);", cuda_sources=src, functions=["axpy"])


class ModelNew(nn.Module):
    def forward(self, x, y):
        return ext.axpy(x, y)
