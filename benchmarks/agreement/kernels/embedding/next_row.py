"""wrong: rows are counted from one."""

import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

src = """
#include <torch/extension.h>

__global__ void lookup(const int64_t* __restrict__ ids, const float* __restrict__ table, float* __restrict__ out, int total, int dim) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= total) return;
    int64_t row = ids[i / dim] > 0 ? ids[i / dim] - 1 : 0;
    out[i] = table[row * dim + i % dim];
}

torch::Tensor lookup_cuda(torch::Tensor ids, torch::Tensor table) {
    auto out = torch::empty({ids.size(0), ids.size(1), table.size(1)}, table.options());
    int total = out.numel();
    lookup<<<(total + 127) / 128, 128>>>(ids.data_ptr<int64_t>(), table.data_ptr<float>(), out.data_ptr<float>(), total, table.size(1));
    return out;
}
"""

ext = load_inline(name="lookup_one", cpp_sources="torch::Tensor lookup_cuda(torch::Tensor ids, torch::Tensor table);", cuda_sources=src, functions=["lookup_cuda"])


class ModelNew(nn.Module):
    def __init__(self, rows, dim):
        super().__init__()
        self.table = nn.Parameter(torch.randn(rows, dim))

    def forward(self, ids):
        return ext.lookup_cuda(ids, self.table)
