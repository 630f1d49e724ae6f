"""correct: a block copies the row of one id."""

import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

src = """
#include <torch/extension.h>

__global__ void embedding_kernel(const int64_t* ids, const float* table, float* out, int dim) {
    const int64_t id = ids[blockIdx.x];
    for (int d = threadIdx.x; d < dim; d += blockDim.x) out[blockIdx.x * dim + d] = table[id * dim + d];
}

torch::Tensor embedding_cuda(torch::Tensor ids, torch::Tensor table) {
    auto sizes = ids.sizes().vec();
    sizes.push_back(table.size(1));
    auto out = torch::empty(sizes, table.options());
    embedding_kernel<<<ids.numel(), 32>>>(ids.data_ptr<int64_t>(), table.data_ptr<float>(), out.data_ptr<float>(), table.size(1));
    return out;
}
"""

ext = load_inline(
    name="embedding_blocks",
    cpp_sources="torch::Tensor embedding_cuda(torch::Tensor ids, torch::Tensor table);",
    cuda_sources=src,
    functions=["embedding_cuda"],
)


class ModelNew(nn.Module):
    def __init__(self, rows, dim):
        super().__init__()
        self.table = nn.Parameter(torch.randn(rows, dim))

    def forward(self, ids):
        return ext.embedding_cuda(ids, self.table)
