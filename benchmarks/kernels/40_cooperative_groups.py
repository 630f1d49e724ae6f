"""cooperative_groups tiles and this_thread_block."""

import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

cuda_source = """
#include <torch/extension.h>
#include <cooperative_groups.h>

namespace cg = cooperative_groups;

__global__ void row_sum_kernel(const float* x, float* y, int cols) {
    cg::thread_block block = cg::this_thread_block();
    cg::thread_block_tile<32> tile = cg::tiled_partition<32>(block);
    float v = 0.f;
    for (int c = tile.thread_rank(); c < cols; c += tile.size()) v += x[blockIdx.x * cols + c];
    for (int o = tile.size() / 2; o > 0; o /= 2) v += tile.shfl_down(v, o);
    if (tile.thread_rank() == 0) y[blockIdx.x] = v;
}

torch::Tensor row_sum(torch::Tensor x) {
    auto y = torch::empty({x.size(0)}, x.options());
    row_sum_kernel<<<x.size(0), 32>>>(x.data_ptr<float>(), y.data_ptr<float>(), x.size(1));
    return y;
}
"""

cpp_source = "torch::Tensor row_sum(torch::Tensor x);"

extension = load_inline(
    name="cooperative_groups",
    cpp_sources=cpp_source,
    cuda_sources=cuda_source,
    functions=["row_sum"],
)


class Model(nn.Module):
    def forward(self, x):
        return x.sum(dim=1)


class ModelNew(nn.Module):
    def forward(self, x):
        return extension.row_sum(x)


def get_inputs():
    return [torch.randn(9, 64)]


def get_init_inputs():
    return []
