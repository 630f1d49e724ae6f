"""wrong: the statistics are those of each image, as in instance normalisation."""

import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

source = """
#include <torch/extension.h>

__global__ void bn_kernel(const float* x, const float* w, const float* b, float* y, int C, int HW, float eps) {
    int c = blockIdx.x % C;
    const float* p = x + blockIdx.x * HW;
    __shared__ float s_sum, s_sq;
    if (threadIdx.x == 0) { s_sum = 0; s_sq = 0; }
    __syncthreads();
    float a = 0, q = 0;
    for (int i = threadIdx.x; i < HW; i += blockDim.x) { a += p[i]; q += p[i] * p[i]; }
    atomicAdd(&s_sum, a);
    atomicAdd(&s_sq, q);
    __syncthreads();
    float mean = s_sum / HW, var = s_sq / HW - mean * mean;
    for (int i = threadIdx.x; i < HW; i += blockDim.x)
        y[blockIdx.x * HW + i] = (p[i] - mean) * rsqrtf(var + eps) * w[c] + b[c];
}

torch::Tensor bn(torch::Tensor x, torch::Tensor w, torch::Tensor b, double eps) {
    auto y = torch::empty_like(x);
    bn_kernel<<<x.size(0) * x.size(1), 128>>>(x.data_ptr<float>(), w.data_ptr<float>(), b.data_ptr<float>(), y.data_ptr<float>(), x.size(1), x.size(2) * x.size(3), eps);
    return y;
}
"""

bnm = load_inline(
    name="bn_per_image",
    cpp_sources="torch::Tensor bn(torch::Tensor x, torch::Tensor w, torch::Tensor b, double eps);",
    cuda_sources=source,
    functions=["bn"],
)


class ModelNew(nn.Module):
    def __init__(self, channels, eps=1e-5):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(channels))
        self.bias = nn.Parameter(torch.randn(channels))
        self.eps = eps

    def forward(self, x):
        return bnm.bn(x, self.weight, self.bias, self.eps)
