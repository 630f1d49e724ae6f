"""wrong: a tree over the middle dimension that takes its length for even."""

import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

src = """
#include <torch/extension.h>

__global__ void tree_sum(const float* x, float* y, int L, int D) {
    extern __shared__ float buf[];
    int b = blockIdx.y, d = blockIdx.x, t = threadIdx.x;
    buf[t] = x[(b * L + t) * D + d];
    __syncthreads();
    for (int s = L / 2; s > 0; s /= 2) {
        if (t < s) buf[t] += buf[t + s];
        __syncthreads();
    }
    if (t == 0) y[b * D + d] = buf[0];
}

torch::Tensor sum_tree(torch::Tensor x) {
    const int L = x.size(1), D = x.size(2);
    auto y = torch::empty({x.size(0), 1, D}, x.options());
    tree_sum<<<dim3(D, x.size(0)), L, L * sizeof(float)>>>(x.data_ptr<float>(), y.data_ptr<float>(), L, D);
    return y;
}
"""

mod = load_inline(
    name="sum_tree_even",
    cpp_sources="torch::Tensor sum_tree(torch::Tensor x);",
    cuda_sources=src,
    functions=["sum_tree"],
)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, x):
        return mod.sum_tree(x)
