"""correct: a block for each group, double in its sums."""

import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

gn_source = """
#include <torch/extension.h>

__global__ void group_norm_kernel(const float* x, const float* weight, const float* bias, float* y,
                                  int C, int HW, int G, double eps) {
    __shared__ double s1[128];
    __shared__ double s2[128];
    const int per_group = C / G * HW;
    const int g = blockIdx.x % G;
    const long base = (long)blockIdx.x * per_group;
    double a = 0.0, q = 0.0;
    for (int i = threadIdx.x; i < per_group; i += blockDim.x) {
        double v = x[base + i];
        a += v;
        q += v * v;
    }
    s1[threadIdx.x] = a;
    s2[threadIdx.x] = q;
    __syncthreads();
    for (int s = 64; s > 0; s >>= 1) {
        if (threadIdx.x < s) {
            s1[threadIdx.x] += s1[threadIdx.x + s];
            s2[threadIdx.x] += s2[threadIdx.x + s];
        }
        __syncthreads();
    }
    const double mean = s1[0] / per_group;
    const double rstd = 1.0 / sqrt(s2[0] / per_group - mean * mean + eps);
    for (int i = threadIdx.x; i < per_group; i += blockDim.x) {
        int c = g * (C / G) + i / HW;
        y[base + i] = (float)((x[base + i] - mean) * rstd) * weight[c] + bias[c];
    }
}

torch::Tensor group_norm_cuda(torch::Tensor x, torch::Tensor weight, torch::Tensor bias, int64_t groups) {
    auto y = torch::empty_like(x);
    int N = x.size(0), C = x.size(1), HW = x.size(2) * x.size(3);
    group_norm_kernel<<<N * groups, 128>>>(x.data_ptr<float>(), weight.data_ptr<float>(), bias.data_ptr<float>(),
                                           y.data_ptr<float>(), C, HW, groups, 1e-5);
    return y;
}
"""

gn = load_inline(
    name="group_norm_double",
    cpp_sources="torch::Tensor group_norm_cuda(torch::Tensor x, torch::Tensor weight, torch::Tensor bias, int64_t groups);",
    cuda_sources=gn_source,
    functions=["group_norm_cuda"],
)


class ModelNew(nn.Module):
    def __init__(self, channels, groups):
        super().__init__()
        self.groups = groups
        self.weight = nn.Parameter(torch.randn(channels))
        self.bias = nn.Parameter(torch.randn(channels))

    def forward(self, x):
        return gn.group_norm_cuda(x, self.weight, self.bias, self.groups)
