"""wrong: the three values come in the order in which they were found."""

import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

src = """
#include <torch/extension.h>

__global__ void top3(const float* x, float* out, int cols) {
    int r = blockIdx.x;
    if (threadIdx.x != 0) return;
    float best[3] = {-INFINITY, -INFINITY, -INFINITY};
    for (int i = 0; i < cols; ++i) {
        int smallest = 0;
        for (int k = 1; k < 3; ++k) if (best[k] < best[smallest]) smallest = k;
        if (x[r * cols + i] > best[smallest]) best[smallest] = x[r * cols + i];
    }
    for (int k = 0; k < 3; ++k) out[r * 3 + k] = best[k];
}

torch::Tensor top3_cuda(torch::Tensor x) {
    auto out = torch::empty({x.size(0), 3}, x.options());
    top3<<<x.size(0), 32>>>(x.data_ptr<float>(), out.data_ptr<float>(), x.size(1));
    return out;
}
"""

ext = load_inline(name="top3_unordered", cpp_sources="torch::Tensor top3_cuda(torch::Tensor x);", cuda_sources=src, functions=["top3_cuda"])


class ModelNew(nn.Module):
    def forward(self, x):
        return ext.top3_cuda(x)
