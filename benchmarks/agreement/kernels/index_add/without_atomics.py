"""race: threads add to the same element without an atomic."""

import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

src = """
#include <torch/extension.h>

__global__ void index_add_kernel(const float* x, const int64_t* group, float* out, int rows, int dim) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < rows * dim) out[group[i / dim] * dim + i % dim] += x[i];
}

torch::Tensor index_add_cuda(torch::Tensor x, torch::Tensor group) {
    auto out = torch::zeros({12, x.size(1)}, x.options());
    index_add_kernel<<<(x.numel() + 255) / 256, 256>>>(x.data_ptr<float>(), group.data_ptr<int64_t>(), out.data_ptr<float>(), x.size(0), x.size(1));
    return out;
}
"""

ext = load_inline(name="index_add_plain", cpp_sources="torch::Tensor index_add_cuda(torch::Tensor x, torch::Tensor group);", cuda_sources=src, functions=["index_add_cuda"])


class ModelNew(nn.Module):
    def forward(self, x, group):
        return ext.index_add_cuda(x, group)
