"""Group normalisation, several values a thread, printf left in for debugging."""

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.cpp_extension import load_inline

cuda_source = """
#include <torch/extension.h>
#include <stdio.h>
#include <assert.h>

__global__ void group_norm_kernel(const float* x, float* y, int per_group, float eps) {
    const float* in = x + blockIdx.x * per_group;
    float* out = y + blockIdx.x * per_group;
    __shared__ float s_mean, s_rstd;
    if (threadIdx.x == 0) {
        float m = 0, q = 0;
        for (int i = 0; i < per_group; ++i) m += in[i];
        m /= per_group;
        for (int i = 0; i < per_group; ++i) q += (in[i] - m) * (in[i] - m);
        s_mean = m;
        s_rstd = 1.0f / sqrtf(q / per_group + eps);
        if (isnan(s_rstd)) printf("bad group %d\\n", blockIdx.x);
    }
    __syncthreads();
    for (int i = threadIdx.x; i < per_group; i += blockDim.x) out[i] = (in[i] - s_mean) * s_rstd;
}

torch::Tensor group_norm(torch::Tensor x, int64_t groups) {
    TORCH_CHECK(x.size(1) % groups == 0);
    auto y = torch::empty_like(x);
    const int64_t blocks = x.size(0) * groups;
    group_norm_kernel<<<blocks, 32>>>(x.data_ptr<float>(), y.data_ptr<float>(), x.numel() / blocks, 1e-5f);
    return y;
}
"""

cpp_source = "torch::Tensor group_norm(torch::Tensor x, int64_t groups);"

extension = load_inline(
    name="group_norm",
    cpp_sources=cpp_source,
    cuda_sources=cuda_source,
    functions=["group_norm"],
)


class Model(nn.Module):
    def forward(self, x):
        return F.group_norm(x, 2)


class ModelNew(nn.Module):
    def forward(self, x):
        return extension.group_norm(x, 2)


def get_inputs():
    return [torch.randn(3, 4, 5, 5)]


def get_init_inputs():
    return []
