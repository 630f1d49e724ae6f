"""wrong: counts are bytes and overflow; they are widened afterwards."""

import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

src = """
#include <torch/extension.h>

__global__ void count_bin(const int64_t* x, int64_t* out, int n) {
    unsigned char count = 0;
    for (int i = 0; i < n; ++i)
        if (x[i] == threadIdx.x) count++;
    out[threadIdx.x] = count;
}

torch::Tensor bincount_cuda(torch::Tensor x) {
    auto doubled = torch::cat({x, x});
    auto out = torch::empty({16}, x.options());
    count_bin<<<1, 16>>>(doubled.data_ptr<int64_t>(), out.data_ptr<int64_t>(), doubled.numel());
    return torch::floor_divide(out, 2);
}
"""

ext = load_inline(name="bincount_bytes", cpp_sources="torch::Tensor bincount_cuda(torch::Tensor x);", cuda_sources=src, functions=["bincount_cuda"])


class ModelNew(nn.Module):
    def forward(self, x):
        return ext.bincount_cuda(x)
