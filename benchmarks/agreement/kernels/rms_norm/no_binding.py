"""failed: forward() calls a function that is not bound."""

import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

src = """
#include <torch/extension.h>

__global__ void rms_kernel(const float* x, const float* w, float* y, int d, float eps) {
    const float* in = x + blockIdx.x * d;
    float s = 0.f;
    for (int i = 0; i < d; ++i) s += in[i] * in[i];
    float r = rsqrtf(s / d + eps);
    for (int i = threadIdx.x; i < d; i += blockDim.x) y[blockIdx.x * d + i] = in[i] * r * w[i];
}

torch::Tensor rms_norm_cuda(torch::Tensor x, torch::Tensor w, double eps) {
    auto y = torch::empty_like(x);
    int d = x.size(-1);
    rms_kernel<<<x.numel() / d, 32>>>(x.data_ptr<float>(), w.data_ptr<float>(), y.data_ptr<float>(), d, eps);
    return y;
}
"""

rms_ext = load_inline(
    name="rms_not_bound",
    cpp_sources="torch::Tensor rms_norm_cuda(torch::Tensor x, torch::Tensor w, double eps);",
    cuda_sources=src,
    functions=["rms_norm_cuda"],
)


class ModelNew(nn.Module):
    def __init__(self, dim, eps=1e-6):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(dim))
        self.eps = eps

    def forward(self, x):
        return rms_ext.rms_norm_forward(x, self.weight, self.eps)
