"""wrong: the last element of each plane is never written."""

import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

src = """
#include <torch/extension.h>

__global__ void inorm_kernel(const float* x, float* y, int n) {
    float mean = 0.f, var = 0.f;
    const float* p = x + blockIdx.x * n;
    for (int i = 0; i < n; ++i) mean += p[i];
    mean /= n;
    for (int i = 0; i < n; ++i) var += (p[i] - mean) * (p[i] - mean);
    var /= n;
    for (int i = threadIdx.x; i < n - 1; i += blockDim.x) y[blockIdx.x * n + i] = (p[i] - mean) / sqrtf(var + 1e-5f);
}

torch::Tensor instance_norm(torch::Tensor x) {
    auto y = torch::empty_like(x);
    inorm_kernel<<<x.size(0) * x.size(1), 32>>>(x.data_ptr<float>(), y.data_ptr<float>(), x.size(2) * x.size(3));
    return y;
}
"""

instance_norm_ext = load_inline(
    name="instance_norm_last",
    cpp_sources="torch::Tensor instance_norm(torch::Tensor x);",
    cuda_sources=src,
    functions=["instance_norm"],
)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, x):
        return instance_norm_ext.instance_norm(x)
