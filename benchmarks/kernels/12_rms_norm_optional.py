"""An optional weight through c10::optional."""

import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

cuda_source = """
#include <torch/extension.h>
#include <c10/util/Optional.h>

__global__ void rms_norm_kernel(const float* x, const float* w, float* y, int d) {
    __shared__ float total;
    if (threadIdx.x == 0) total = 0.f;
    __syncthreads();
    float s = 0.f;
    const float* row = x + blockIdx.x * d;
    for (int i = threadIdx.x; i < d; i += blockDim.x) s += row[i] * row[i];
    atomicAdd(&total, s);
    __syncthreads();
    float r = rsqrtf(total / d + 1e-6f);
    for (int i = threadIdx.x; i < d; i += blockDim.x) y[blockIdx.x * d + i] = row[i] * r * (w ? w[i] : 1.f);
}

torch::Tensor rms_norm(torch::Tensor x, c10::optional<torch::Tensor> weight) {
    auto y = torch::empty_like(x);
    const float* w = weight.has_value() ? weight.value().data_ptr<float>() : nullptr;
    rms_norm_kernel<<<x.size(0), 32>>>(x.data_ptr<float>(), w, y.data_ptr<float>(), x.size(1));
    return y;
}
"""

cpp_source = "torch::Tensor rms_norm(torch::Tensor x, c10::optional<torch::Tensor> weight);"

extension = load_inline(
    name="rms_norm_optional",
    cpp_sources=cpp_source,
    cuda_sources=cuda_source,
    functions=["rms_norm"],
)


class Model(nn.Module):
    def forward(self, x):
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6)


class ModelNew(nn.Module):
    def forward(self, x):
        return extension.rms_norm(x, None)


def get_inputs():
    return [torch.randn(20, 96)]


def get_init_inputs():
    return []
