"""wrong: the maximum over the middle dimension, whose output has another shape."""

import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

src = """
#include <torch/extension.h>
#include <float.h>

__global__ void max_kernel(const float* x, float* y, int B, int L, int D) {
    int d = threadIdx.x + blockIdx.x * blockDim.x;
    int b = blockIdx.y;
    if (d >= D) return;
    float m = -FLT_MAX;
    for (int l = 0; l < L; ++l) m = fmaxf(m, x[(b * L + l) * D + d]);
    y[b * D + d] = m;
}

torch::Tensor max_forward(torch::Tensor x) {
    auto y = torch::empty({x.size(0), x.size(2)}, x.options());
    max_kernel<<<dim3(1, x.size(0)), 64>>>(x.data_ptr<float>(), y.data_ptr<float>(), x.size(0), x.size(1), x.size(2));
    return y;
}
"""

op = load_inline(
    name="max_middle",
    cpp_sources="torch::Tensor max_forward(torch::Tensor x);",
    cuda_sources=src,
    functions=["max_forward"],
)


class ModelNew(nn.Module):
    def __init__(self, dim: int = 2):
        super().__init__()
        self.dim = dim

    def forward(self, x):
        return op.max_forward(x)
