"""wrong: each round removes all elements that are equal to its maximum."""

import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

src = """
#include <torch/extension.h>

__global__ void top3(const float* __restrict__ x, float* __restrict__ out, int cols) {
    const int r = blockIdx.x, lane = threadIdx.x;
    float below = INFINITY;
    for (int k = 0; k < 3; ++k) {
        float best = -INFINITY;
        for (int c = lane; c < cols; c += 32) {
            float v = x[r * cols + c];
            if (v < below) best = fmaxf(best, v);
        }
        for (int o = 16; o > 0; o >>= 1) best = fmaxf(best, __shfl_xor_sync(0xffffffff, best, o));
        if (lane == 0) out[r * 3 + k] = best;
        below = best;
    }
}

torch::Tensor top3_cuda(torch::Tensor x) {
    auto out = torch::empty({x.size(0), 3}, x.options());
    top3<<<x.size(0), 32>>>(x.data_ptr<float>(), out.data_ptr<float>(), x.size(1));
    return out;
}
"""

ext = load_inline(name="top3_distinct", cpp_sources="torch::Tensor top3_cuda(torch::Tensor x);", cuda_sources=src, functions=["top3_cuda"])


class ModelNew(nn.Module):
    def forward(self, x):
        return ext.top3_cuda(x)
