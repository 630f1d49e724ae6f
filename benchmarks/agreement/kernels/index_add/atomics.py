"""correct: atomics into zeros."""

import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

src = """
#include <torch/extension.h>

__global__ void index_add_kernel(const float* x, const int64_t* group, float* out, int rows, int dim) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < rows * dim) {
        int r = i / dim, d = i % dim;
        atomicAdd(&out[group[r] * dim + d], x[i]);
    }
}

torch::Tensor index_add_cuda(torch::Tensor x, torch::Tensor group, int64_t groups) {
    auto out = torch::zeros({groups, x.size(1)}, x.options());
    int total = x.numel();
    index_add_kernel<<<(total + 255) / 256, 256>>>(x.data_ptr<float>(), group.data_ptr<int64_t>(), out.data_ptr<float>(), x.size(0), x.size(1));
    return out;
}
"""

ext = load_inline(
    name="index_add_atomics",
    cpp_sources="torch::Tensor index_add_cuda(torch::Tensor x, torch::Tensor group, int64_t groups);",
    cuda_sources=src,
    functions=["index_add_cuda"],
)


class ModelNew(nn.Module):
    def forward(self, x, group):
        return ext.index_add_cuda(x, group, 12)
