"""wrong: the dilation shapes the output and not the reading."""

import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

src = """
#include <torch/extension.h>

__global__ void conv1d_kernel(const float* __restrict__ x, const float* __restrict__ w, float* __restrict__ y,
                              int C, int L, int O, int K, int OL, int stride) {
    int l = threadIdx.x, o = blockIdx.x, n = blockIdx.y;
    if (l >= OL) return;
    float acc = 0.f;
    for (int c = 0; c < C; ++c)
        for (int k = 0; k < K; ++k) acc += x[(n * C + c) * L + l * stride + k] * w[(o * C + c) * K + k];
    y[(n * O + o) * OL + l] = acc;
}

torch::Tensor conv1d(torch::Tensor x, torch::Tensor w, int stride, int dilation) {
    int OL = (x.size(2) - dilation * (w.size(2) - 1) - 1) / stride + 1;
    auto y = torch::empty({x.size(0), w.size(0), OL}, x.options());
    conv1d_kernel<<<dim3(w.size(0), x.size(0)), 32>>>(x.data_ptr<float>(), w.data_ptr<float>(), y.data_ptr<float>(),
        x.size(1), x.size(2), w.size(0), w.size(2), OL, stride);
    return y;
}
"""

ext = load_inline(
    name="conv1d_dilation",
    cpp_sources="torch::Tensor conv1d(torch::Tensor x, torch::Tensor w, int stride, int dilation);",
    cuda_sources=src,
    functions=["conv1d"],
)


class ModelNew(nn.Module):
    def __init__(self, in_channels, out_channels):
        super().__init__()
        self.conv = nn.Conv1d(in_channels, out_channels, 5, stride=2, dilation=3, bias=False)

    def forward(self, x):
        return ext.conv1d(x, self.conv.weight, 2, 3)
