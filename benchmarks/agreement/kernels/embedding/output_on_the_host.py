"""failed: the output is made without options, so it lies on the host."""

import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

src = """
#include <torch/extension.h>

__global__ void embed(const int64_t* ids, const float* table, float* out, int n, int dim) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n * dim) out[i] = table[ids[i / dim] * dim + i % dim];
}

torch::Tensor embed_cuda(torch::Tensor ids, torch::Tensor table) {
    int n = ids.numel(), dim = table.size(1);
    auto out = torch::empty({ids.size(0), ids.size(1), dim});
    embed<<<(n * dim + 255) / 256, 256>>>(ids.data_ptr<int64_t>(), table.data_ptr<float>(), out.data_ptr<float>(), n, dim);
    return out;
}
"""

ext = load_inline(
    name="embed_host",
    cpp_sources="torch::Tensor embed_cuda(torch::Tensor ids, torch::Tensor table);",
    cuda_sources=src,
    functions=["embed_cuda"],
)


class ModelNew(nn.Module):
    def __init__(self, rows, dim):
        super().__init__()
        self.table = nn.Parameter(torch.randn(rows, dim))

    def forward(self, ids):
        return ext.embed_cuda(ids, self.table)
