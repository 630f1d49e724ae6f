"""__constant__ weights set with cudaMemcpyToSymbol."""

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.cpp_extension import load_inline

cuda_source = """
#include <torch/extension.h>
#include <cuda_runtime.h>

__constant__ float taps[3];

__global__ void blur_kernel(const float* x, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float s = 0;
    for (int k = -1; k <= 1; ++k)
        if (i + k >= 0 && i + k < n) s += taps[k + 1] * x[i + k];
    y[i] = s;
}

torch::Tensor blur(torch::Tensor x) {
    const float host[3] = {0.25f, 0.5f, 0.25f};
    cudaMemcpyToSymbol(taps, host, sizeof(host));
    auto y = torch::empty_like(x);
    blur_kernel<<<(x.numel() + 127) / 128, 128>>>(x.data_ptr<float>(), y.data_ptr<float>(), x.numel());
    cudaDeviceSynchronize();
    return y;
}
"""

cpp_source = "torch::Tensor blur(torch::Tensor x);"

extension = load_inline(
    name="constant_memory",
    cpp_sources=cpp_source,
    cuda_sources=cuda_source,
    functions=["blur"],
)


class Model(nn.Module):
    def forward(self, x):
        return F.conv1d(x[None, None], torch.tensor([[[0.25, 0.5, 0.25]]]).to(x), padding=1)[0, 0]


class ModelNew(nn.Module):
    def forward(self, x):
        return extension.blur(x)


def get_inputs():
    return [torch.randn(100)]


def get_init_inputs():
    return []
