"""failed: the 64-bit targets are asked for as 32-bit ones, which torch refuses."""

import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

src = """
#include <torch/extension.h>

__global__ void ce(const float* x, const int* t, float* losses, int N, int C) {
    int r = blockIdx.x * blockDim.x + threadIdx.x;
    if (r >= N) return;
    float m = -INFINITY, s = 0.f;
    for (int c = 0; c < C; ++c) m = fmaxf(m, x[r * C + c]);
    for (int c = 0; c < C; ++c) s += expf(x[r * C + c] - m);
    losses[r] = logf(s) + m - x[r * C + t[r]];
}

torch::Tensor ce_forward(torch::Tensor x, torch::Tensor t) {
    auto losses = torch::empty({x.size(0)}, x.options());
    ce<<<(x.size(0) + 63) / 64, 64>>>(x.data_ptr<float>(), t.data_ptr<int>(), losses.data_ptr<float>(), x.size(0), x.size(1));
    return losses.mean();
}
"""

ext = load_inline(name="ce_int", cpp_sources="torch::Tensor ce_forward(torch::Tensor x, torch::Tensor t);", cuda_sources=src, functions=["ce_forward"])


class ModelNew(nn.Module):
    def forward(self, logits, targets):
        return ext.ce_forward(logits, targets)
