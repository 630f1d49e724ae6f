"""wrong: the update gate weighs the old state and the new one the other way round."""

import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

src = """
#include <torch/extension.h>

__global__ void gru_step(const float* x, const float* h, const float* wi, const float* wh, const float* bi, const float* bh,
                         float* out, int I, int H) {
    int b = blockIdx.x, j = threadIdx.x;
    if (j >= H) return;
    float g[3], k[3];
    for (int q = 0; q < 3; ++q) {
        int row = q * H + j;
        float a = bi[row], c = bh[row];
        for (int i = 0; i < I; ++i) a += x[b * I + i] * wi[row * I + i];
        for (int i = 0; i < H; ++i) c += h[b * H + i] * wh[row * H + i];
        g[q] = a;
        k[q] = c;
    }
    float r = 1.f / (1.f + expf(-(g[0] + k[0])));
    float z = 1.f / (1.f + expf(-(g[1] + k[1])));
    float n = tanhf(g[2] + r * k[2]);
    out[b * H + j] = z * n + (1.f - z) * h[b * H + j];
}

torch::Tensor gru(torch::Tensor x, torch::Tensor h, torch::Tensor wi, torch::Tensor wh, torch::Tensor bi, torch::Tensor bh) {
    auto out = torch::empty_like(h);
    gru_step<<<x.size(0), 32>>>(x.data_ptr<float>(), h.data_ptr<float>(), wi.data_ptr<float>(), wh.data_ptr<float>(), bi.data_ptr<float>(), bh.data_ptr<float>(), out.data_ptr<float>(), x.size(1), h.size(1));
    return out;
}
"""

ext = load_inline(
    name="gru_swapped",
    cpp_sources="torch::Tensor gru(torch::Tensor x, torch::Tensor h, torch::Tensor wi, torch::Tensor wh, torch::Tensor bi, torch::Tensor bh);",
    cuda_sources=src,
    functions=["gru"],
)


class ModelNew(nn.Module):
    def __init__(self, input_size, hidden_size):
        super().__init__()
        self.cell = nn.GRUCell(input_size, hidden_size)

    def forward(self, x, h):
        c = self.cell
        return ext.gru(x, h, c.weight_ih, c.weight_hh, c.bias_ih, c.bias_hh)
