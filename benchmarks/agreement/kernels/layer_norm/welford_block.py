"""correct: Welford's update, merged over a block in shared memory."""

import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

source = """
#include <torch/extension.h>

struct Stats {
    float mean, m2;
    int count;
};

__device__ Stats combine(const Stats& a, const Stats& b) {
    if (b.count == 0) return a;
    if (a.count == 0) return b;
    Stats r;
    r.count = a.count + b.count;
    float delta = b.mean - a.mean;
    r.mean = a.mean + delta * b.count / r.count;
    r.m2 = a.m2 + b.m2 + delta * delta * a.count * b.count / r.count;
    return r;
}

__global__ void welford_ln(const float* x, const float* w, const float* b, float* y, int d, float eps) {
    __shared__ float means[64], m2s[64];
    __shared__ int counts[64];
    const float* row = x + (size_t)blockIdx.x * d;
    Stats s{0.f, 0.f, 0};
    for (int i = threadIdx.x; i < d; i += blockDim.x) {
        s.count++;
        float delta = row[i] - s.mean;
        s.mean += delta / s.count;
        s.m2 += delta * (row[i] - s.mean);
    }
    means[threadIdx.x] = s.mean; m2s[threadIdx.x] = s.m2; counts[threadIdx.x] = s.count;
    __syncthreads();
    for (int half = blockDim.x / 2; half > 0; half /= 2) {
        if (threadIdx.x < half) {
            Stats a{means[threadIdx.x], m2s[threadIdx.x], counts[threadIdx.x]};
            Stats c{means[threadIdx.x + half], m2s[threadIdx.x + half], counts[threadIdx.x + half]};
            Stats r = combine(a, c);
            means[threadIdx.x] = r.mean; m2s[threadIdx.x] = r.m2; counts[threadIdx.x] = r.count;
        }
        __syncthreads();
    }
    float mean = means[0], rstd = rsqrtf(m2s[0] / d + eps);
    for (int i = threadIdx.x; i < d; i += blockDim.x) y[(size_t)blockIdx.x * d + i] = (row[i] - mean) * rstd * w[i] + b[i];
}

torch::Tensor ln_forward(torch::Tensor x, torch::Tensor w, torch::Tensor b, double eps) {
    auto y = torch::empty_like(x);
    const int d = w.numel();
    welford_ln<<<x.numel() / d, 64>>>(x.data_ptr<float>(), w.data_ptr<float>(), b.data_ptr<float>(), y.data_ptr<float>(), d, eps);
    return y;
}
"""

welford = load_inline(
    name="welford_ln",
    cpp_sources="torch::Tensor ln_forward(torch::Tensor x, torch::Tensor w, torch::Tensor b, double eps);",
    cuda_sources=source,
    functions=["ln_forward"],
)


class ModelNew(nn.Module):
    def __init__(self, dim, eps=1e-5):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(dim))
        self.bias = nn.Parameter(torch.randn(dim))
        self.eps = eps

    def forward(self, x):
        return welford.ln_forward(x.contiguous(), self.weight, self.bias, self.eps)
