"""correct: tiles of cooperative groups, several rows a block."""

import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

src = """
#include <torch/extension.h>
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>

namespace cg = cooperative_groups;

__global__ void rms_kernel(const float* x, const float* w, float* y, int rows, int d, float eps) {
    cg::thread_block block = cg::this_thread_block();
    cg::thread_block_tile<32> tile = cg::tiled_partition<32>(block);
    int row = blockIdx.x * tile.meta_group_size() + tile.meta_group_rank();
    if (row >= rows) return;
    float sum = 0.f;
    for (int i = tile.thread_rank(); i < d; i += tile.size()) sum += x[row * d + i] * x[row * d + i];
    sum = cg::reduce(tile, sum, cg::plus<float>());
    float inv = 1.f / sqrtf(sum / d + eps);
    for (int i = tile.thread_rank(); i < d; i += tile.size()) y[row * d + i] = x[row * d + i] * inv * w[i];
}

torch::Tensor rms_norm(torch::Tensor x, torch::Tensor w, double eps) {
    auto y = torch::empty_like(x);
    int d = x.size(-1), rows = x.numel() / d;
    rms_kernel<<<(rows + 7) / 8, 256>>>(x.data_ptr<float>(), w.data_ptr<float>(), y.data_ptr<float>(), rows, d, (float)eps);
    return y;
}
"""

cgm = load_inline(
    name="rms_cg",
    cpp_sources="torch::Tensor rms_norm(torch::Tensor x, torch::Tensor w, double eps);",
    cuda_sources=src,
    functions=["rms_norm"],
)


class ModelNew(nn.Module):
    def __init__(self, dim, eps=1e-6):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(dim))
        self.eps = eps

    def forward(self, x):
        return cgm.rms_norm(x, self.weight, self.eps)
