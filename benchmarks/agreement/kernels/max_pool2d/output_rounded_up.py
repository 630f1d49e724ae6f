"""wrong: the size of the output is rounded up."""

import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

src = """
#include <torch/extension.h>
#include <float.h>

__global__ void maxpool(const float* x, float* y, int total, int H, int W, int OH, int OW) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= total) return;
    int ow = i % OW, oh = i / OW % OH, p = i / (OW * OH);
    float m = -FLT_MAX;
    for (int h = max(2 * oh - 1, 0); h < min(2 * oh + 2, H); h++)
        for (int w = max(2 * ow - 1, 0); w < min(2 * ow + 2, W); w++) m = fmaxf(m, x[(p * H + h) * W + w]);
    y[i] = m;
}

torch::Tensor maxpool_cuda(torch::Tensor x) {
    int H = x.size(2), W = x.size(3);
    int OH = (H + 2 - 3 + 1) / 2 + 1, OW = (W + 2 - 3 + 1) / 2 + 1;
    auto y = torch::empty({x.size(0), x.size(1), OH, OW}, x.options());
    maxpool<<<(y.numel() + 127) / 128, 128>>>(x.data_ptr<float>(), y.data_ptr<float>(), y.numel(), H, W, OH, OW);
    return y;
}
"""

ext = load_inline(name="maxpool_ceil", cpp_sources="torch::Tensor maxpool_cuda(torch::Tensor x);", cuda_sources=src, functions=["maxpool_cuda"])


class ModelNew(nn.Module):
    def forward(self, x):
        return ext.maxpool_cuda(x)
