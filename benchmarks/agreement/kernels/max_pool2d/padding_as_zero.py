"""wrong: what lies in the padding counts as 0."""

import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

src = """
#include <torch/extension.h>

__global__ void pool(const float* x, float* y, int H, int W, int OH, int OW) {
    int plane = blockIdx.y;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < OH * OW; i += blockDim.x * gridDim.x) {
        int oh = i / OW, ow = i % OW;
        float m = -INFINITY;
        for (int r = 0; r < 3; ++r)
            for (int s = 0; s < 3; ++s) {
                int h = oh * 2 - 1 + r, w = ow * 2 - 1 + s;
                float v = (h >= 0 && h < H && w >= 0 && w < W) ? x[(plane * H + h) * W + w] : 0.f;
                m = fmaxf(m, v);
            }
        y[plane * OH * OW + i] = m;
    }
}

torch::Tensor pool_cuda(torch::Tensor x) {
    int H = x.size(2), W = x.size(3), OH = (H - 1) / 2 + 1, OW = (W - 1) / 2 + 1;
    auto y = torch::empty({x.size(0), x.size(1), OH, OW}, x.options());
    pool<<<dim3(2, x.size(0) * x.size(1)), 64>>>(x.data_ptr<float>(), y.data_ptr<float>(), H, W, OH, OW);
    return y;
}
"""

ext = load_inline(name="pool_zero", cpp_sources="torch::Tensor pool_cuda(torch::Tensor x);", cuda_sources=src, functions=["pool_cuda"])


class ModelNew(nn.Module):
    def forward(self, x):
        return ext.pool_cuda(x)
