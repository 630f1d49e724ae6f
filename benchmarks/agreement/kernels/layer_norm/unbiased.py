"""wrong: the unbiased variance."""

import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

src = """
#include <torch/extension.h>

__global__ void ln(const float* __restrict__ x, const float* __restrict__ w, const float* __restrict__ b, float* y, int n, float eps) {
    extern __shared__ float buf[];
    float* sums = buf;
    float* squares = buf + blockDim.x;
    int t = threadIdx.x;
    float s = 0.f, q = 0.f;
    for (int i = t; i < n; i += blockDim.x) {
        float v = x[blockIdx.x * n + i];
        s += v;
        q += v * v;
    }
    sums[t] = s;
    squares[t] = q;
    __syncthreads();
    for (int k = blockDim.x >> 1; k; k >>= 1) {
        if (t < k) {
            sums[t] += sums[t + k];
            squares[t] += squares[t + k];
        }
        __syncthreads();
    }
    float mu = sums[0] / n;
    float var = (squares[0] - n * mu * mu) / (n - 1);
    float r = 1.0f / sqrtf(var + eps);
    for (int i = t; i < n; i += blockDim.x) y[blockIdx.x * n + i] = (x[blockIdx.x * n + i] - mu) * r * w[i] + b[i];
}

torch::Tensor ln_fwd(torch::Tensor x, torch::Tensor w, torch::Tensor b, double eps) {
    auto y = torch::empty_like(x);
    int n = x.size(2);
    ln<<<x.size(0) * x.size(1), 128, 2 * 128 * sizeof(float)>>>(x.data_ptr<float>(), w.data_ptr<float>(), b.data_ptr<float>(), y.data_ptr<float>(), n, eps);
    return y;
}
"""

ln_mod = load_inline(
    name="ln_unbiased",
    cpp_sources="torch::Tensor ln_fwd(torch::Tensor x, torch::Tensor w, torch::Tensor b, double eps);",
    cuda_sources=src,
    functions=["ln_fwd"],
)


class ModelNew(nn.Module):
    def __init__(self, dim, eps=1e-5):
        super(ModelNew, self).__init__()
        self.weight = nn.Parameter(torch.randn(dim))
        self.bias = nn.Parameter(torch.randn(dim))
        self.eps = eps

    def forward(self, x):
        return ln_mod.ln_fwd(x, self.weight, self.bias, self.eps)
