"""wrong: the dimension that is summed is not kept."""

import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

src = """
#include <torch/extension.h>

__global__ void reduce_mid(const float* x, float* y, int L, int D) {
    int b = blockIdx.x, d = threadIdx.x;
    if (d >= D) return;
    float s = 0.f;
    for (int l = 0; l < L; ++l) s += x[b * L * D + l * D + d];
    y[b * D + d] = s;
}

torch::Tensor reduce_sum(torch::Tensor x) {
    auto y = torch::empty({x.size(0), x.size(2)}, x.options());
    reduce_mid<<<x.size(0), 64>>>(x.data_ptr<float>(), y.data_ptr<float>(), x.size(1), x.size(2));
    return y;
}
"""

mod = load_inline(
    name="sum_middle_shape",
    cpp_sources="torch::Tensor reduce_sum(torch::Tensor x);",
    cuda_sources=src,
    functions=["reduce_sum"],
)


class ModelNew(nn.Module):
    def forward(self, x):
        return mod.reduce_sum(x)
