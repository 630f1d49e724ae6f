"""wrong: only the first warp's part of the sum is used."""

import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

src = """
#include <torch/extension.h>

__global__ void rms_kernel(const float* x, const float* w, float* y, int d, float eps) {
    const float* in = x + blockIdx.x * d;
    float v = 0.f;
    for (int i = threadIdx.x; i < d; i += blockDim.x) v += in[i] * in[i];
    for (int o = 16; o > 0; o /= 2) v += __shfl_down_sync(0xffffffff, v, o);
    __shared__ float total;
    if (threadIdx.x == 0) total = v;
    __syncthreads();
    float r = rsqrtf(total / d + eps);
    for (int i = threadIdx.x; i < d; i += blockDim.x) y[blockIdx.x * d + i] = in[i] * r * w[i];
}

torch::Tensor rms(torch::Tensor x, torch::Tensor w, double eps) {
    auto y = torch::empty_like(x);
    int d = x.size(-1);
    rms_kernel<<<x.numel() / d, 128>>>(x.data_ptr<float>(), w.data_ptr<float>(), y.data_ptr<float>(), d, eps);
    return y;
}
"""

rms_ext = load_inline(
    name="rms_first_warp",
    cpp_sources="torch::Tensor rms(torch::Tensor x, torch::Tensor w, double eps);",
    cuda_sources=src,
    functions=["rms"],
)


class ModelNew(nn.Module):
    def __init__(self, dim, eps=1e-6):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(dim))
        self.eps = eps

    def forward(self, x):
        return rms_ext.rms(x, self.weight, self.eps)
