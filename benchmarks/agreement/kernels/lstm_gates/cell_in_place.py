"""wrong: the new cell is written over the old one."""

import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

src = """
#include <torch/extension.h>

__global__ void lstm_cell(const float* g, float* c, float* h, int H) {
    int b = blockIdx.x;
    for (int j = threadIdx.x; j < H; j += blockDim.x) {
        float i = 1.f / (1.f + __expf(-g[b * 4 * H + j]));
        float f = 1.f / (1.f + __expf(-g[b * 4 * H + H + j]));
        float z = tanhf(g[b * 4 * H + 2 * H + j]);
        float o = 1.f / (1.f + __expf(-g[b * 4 * H + 3 * H + j]));
        float cell = f * c[b * H + j] + i * z;
        c[b * H + j] = cell;
        h[b * H + j] = o * tanhf(cell);
    }
}

torch::Tensor lstm_cell_(torch::Tensor g, torch::Tensor c) {
    auto h = torch::empty_like(c);
    lstm_cell<<<c.size(0), 64>>>(g.data_ptr<float>(), c.data_ptr<float>(), h.data_ptr<float>(), c.size(1));
    return h;
}
"""

ext = load_inline(name="lstm_in_place", cpp_sources="torch::Tensor lstm_cell_(torch::Tensor g, torch::Tensor c);", cuda_sources=src, functions=["lstm_cell_"])


class ModelNew(nn.Module):
    def forward(self, gates, c):
        h = ext.lstm_cell_(gates, c)
        return h, c
