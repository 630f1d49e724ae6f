"""failed: uses a name that was never declared."""

import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

src = """
#include <torch/extension.h>

__global__ void l2norm_kernel(const float* x, float* y, int cols) {
    int row = blockIdx.x;
    float local = 0.f;
    for (int c = threadIdx.x; c < cols; c += blockDim.x) local += x[row * cols + c] * x[row * cols + c];
    for (int o = 16; o > 0; o >>= 1) local += __shfl_xor_sync(0xffffffff, local, o);
    float inv = rsqrtf(fmaxf(local, eps * eps));
    for (int c = threadIdx.x; c < cols; c += blockDim.x) y[row * cols + c] = x[row * cols + c] * inv;
}

torch::Tensor l2norm(torch::Tensor x) {
    auto y = torch::empty_like(x);
    l2norm_kernel<<<x.size(0), 32>>>(x.data_ptr<float>(), y.data_ptr<float>(), x.size(1));
    return y;
}
"""

ext = load_inline(
    name="l2_undeclared",
    cpp_sources="torch::Tensor l2norm(torch::Tensor x);",
    cuda_sources=src,
    functions=["l2norm"],
)


class ModelNew(nn.Module):
    def forward(self, x):
        return ext.l2norm(x)
