"""wrong: atomics add to memory that was never set to zero."""

import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

src = """
#include <torch/extension.h>

__global__ void mean_kernel(const float* x, float* out, int n) {
    float v = 0.f;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) v += x[i];
    for (int o = 16; o > 0; o >>= 1) v += __shfl_down_sync(0xffffffff, v, o);
    if (threadIdx.x % 32 == 0) atomicAdd(out, v / n);
}

torch::Tensor mean_cuda(torch::Tensor x) {
    auto out = torch::empty({}, x.options());
    mean_kernel<<<32, 128>>>(x.data_ptr<float>(), out.data_ptr<float>(), x.numel());
    return out;
}
"""

ext = load_inline(
    name="mean_empty",
    cpp_sources="torch::Tensor mean_cuda(torch::Tensor x);",
    cuda_sources=src,
    functions=["mean_cuda"],
)


class ModelNew(nn.Module):
    def forward(self, x):
        return ext.mean_cuda(x)
