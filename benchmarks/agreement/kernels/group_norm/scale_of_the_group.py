"""wrong: scale and shift are looked up by group and not by channel."""

import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

gn_source = """
#include <torch/extension.h>

__global__ void gn_kernel(const float* x, const float* w, const float* b, float* y, int per_group, int groups, float eps) {
    int g = blockIdx.x % groups;
    const float* p = x + blockIdx.x * per_group;
    __shared__ float st[2];
    if (threadIdx.x == 0) {
        float m = 0.f, v = 0.f;
        for (int i = 0; i < per_group; i++) m += p[i];
        m /= per_group;
        for (int i = 0; i < per_group; i++) { float d = p[i] - m; v += d * d; }
        st[0] = m;
        st[1] = rsqrtf(v / per_group + eps);
    }
    __syncthreads();
    for (int i = threadIdx.x; i < per_group; i += blockDim.x)
        y[blockIdx.x * per_group + i] = (p[i] - st[0]) * st[1] * w[g] + b[g];
}

torch::Tensor gn_forward(torch::Tensor x, torch::Tensor w, torch::Tensor b, int groups) {
    auto y = torch::empty_like(x);
    int blocks = x.size(0) * groups;
    gn_kernel<<<blocks, 64>>>(x.data_ptr<float>(), w.data_ptr<float>(), b.data_ptr<float>(), y.data_ptr<float>(), x.numel() / blocks, groups, 1e-5f);
    return y;
}
"""

gn_ext = load_inline(
    name="gn_by_group",
    cpp_sources="torch::Tensor gn_forward(torch::Tensor x, torch::Tensor w, torch::Tensor b, int groups);",
    cuda_sources=gn_source,
    functions=["gn_forward"],
)


class ModelNew(nn.Module):
    def __init__(self, channels, groups):
        super().__init__()
        self.groups = groups
        self.weight = nn.Parameter(torch.randn(channels))
        self.bias = nn.Parameter(torch.randn(channels))

    def forward(self, x):
        return gn_ext.gn_forward(x, self.weight, self.bias, self.groups)
