"""correct: parts of the middle dimension are added with atomics."""

import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

src = """
#include <torch/extension.h>

__global__ void partial_sums(const float* __restrict__ x, float* out, int L, int D, int chunk) {
    int b = blockIdx.y;
    int first = blockIdx.x * chunk;
    int last = min(first + chunk, L);
    for (int d = threadIdx.x; d < D; d += blockDim.x) {
        float acc = 0.f;
        for (int l = first; l < last; ++l) acc += x[(b * L + l) * D + d];
        atomicAdd(out + b * D + d, acc);
    }
}

torch::Tensor sum_atomic(torch::Tensor x) {
    auto out = torch::zeros({x.size(0), 1, x.size(2)}, x.options());
    const int chunk = 16;
    dim3 grid((x.size(1) + chunk - 1) / chunk, x.size(0));
    partial_sums<<<grid, 64>>>(x.data_ptr<float>(), out.data_ptr<float>(), x.size(1), x.size(2), chunk);
    return out;
}
"""

m = load_inline(
    name="sum_middle_atomic",
    cpp_sources="torch::Tensor sum_atomic(torch::Tensor x);",
    cuda_sources=src,
    functions=["sum_atomic"],
)


class ModelNew(nn.Module):
    def forward(self, x):
        return m.sum_atomic(x)
