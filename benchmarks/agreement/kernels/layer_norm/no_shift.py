"""wrong: the shift is not added."""

import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

src = """
#include <torch/extension.h>

__global__ void layernorm(const float* x, const float* g, float* y, int d, float eps) {
    __shared__ float mean, rstd;
    const float* r = x + blockIdx.x * d;
    if (threadIdx.x == 0) {
        float m = 0, v = 0;
        for (int i = 0; i < d; i++) m += r[i];
        m /= d;
        for (int i = 0; i < d; i++) v += (r[i] - m) * (r[i] - m);
        mean = m;
        rstd = rsqrtf(v / d + eps);
    }
    __syncthreads();
    for (int i = threadIdx.x; i < d; i += blockDim.x) y[blockIdx.x * d + i] = (r[i] - mean) * rstd * g[i];
}

torch::Tensor layernorm_cuda(torch::Tensor x, torch::Tensor g, double eps) {
    auto y = torch::empty_like(x);
    int d = x.size(-1);
    layernorm<<<x.numel() / d, 128>>>(x.data_ptr<float>(), g.data_ptr<float>(), y.data_ptr<float>(), d, (float)eps);
    return y;
}
"""

m = load_inline(name="layernorm_no_shift", cpp_sources="torch::Tensor layernorm_cuda(torch::Tensor x, torch::Tensor g, double eps);",
                cuda_sources=src, functions=["layernorm_cuda"])


class ModelNew(nn.Module):
    def __init__(self, dim, eps=1e-5):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(dim))
        self.bias = nn.Parameter(torch.randn(dim))
        self.eps = eps

    def forward(self, x):
        return m.layernorm_cuda(x, self.weight, self.eps)
