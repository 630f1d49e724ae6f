"""wrong: only the hidden state is returned."""

import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

src = """
#include <torch/extension.h>

__global__ void lstm(const float* g, const float* c, float* h, int n, int H) {
    int idx = blockIdx.x * blockDim.x + threadIdx.x;
    if (idx >= n) return;
    const float* row = g + idx / H * 4 * H + idx % H;
    float i = 1.f / (1.f + expf(-row[0])), f = 1.f / (1.f + expf(-row[H])), o = 1.f / (1.f + expf(-row[3 * H]));
    h[idx] = o * tanhf(f * c[idx] + i * tanhf(row[2 * H]));
}

torch::Tensor lstm_cuda(torch::Tensor g, torch::Tensor c) {
    auto h = torch::empty_like(c);
    lstm<<<(c.numel() + 255) / 256, 256>>>(g.data_ptr<float>(), c.data_ptr<float>(), h.data_ptr<float>(), c.numel(), c.size(1));
    return h;
}
"""

ext = load_inline(name="lstm_one", cpp_sources="torch::Tensor lstm_cuda(torch::Tensor g, torch::Tensor c);", cuda_sources=src, functions=["lstm_cuda"])


class ModelNew(nn.Module):
    def forward(self, gates, c):
        return ext.lstm_cuda(gates, c)
