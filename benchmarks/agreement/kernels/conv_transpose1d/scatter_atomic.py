"""correct: each input is scattered with atomics over an output that begins as the bias."""

import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

src = """
#include <torch/extension.h>

__global__ void fill_bias(float* y, const float* b, int total, int O, int OL) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < total) y[i] = b[i / OL % O];
}

__global__ void scatter(const float* x, const float* w, float* y, int C, int L, int O, int K, int OL, int total) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= total) return;
    int l = i % L, c = i / L % C, n = i / (L * C);
    float v = x[i];
    for (int o = 0; o < O; ++o)
        for (int k = 0; k < K; ++k) {
            int t = l * 2 - 1 + k;
            if (t >= 0 && t < OL) atomicAdd(&y[(n * O + o) * OL + t], v * w[(c * O + o) * K + k]);
        }
}

torch::Tensor forward(torch::Tensor x, torch::Tensor w, torch::Tensor b) {
    int N = x.size(0), C = x.size(1), L = x.size(2), O = w.size(1), K = w.size(2), OL = (L - 1) * 2 - 2 + K;
    auto y = torch::empty({N, O, OL}, x.options());
    fill_bias<<<(y.numel() + 127) / 128, 128>>>(y.data_ptr<float>(), b.data_ptr<float>(), y.numel(), O, OL);
    scatter<<<(x.numel() + 127) / 128, 128>>>(x.data_ptr<float>(), w.data_ptr<float>(), y.data_ptr<float>(), C, L, O, K, OL, x.numel());
    return y;
}
"""

ext = load_inline(
    name="conv_transpose1d_scatter",
    cpp_sources="torch::Tensor forward(torch::Tensor x, torch::Tensor w, torch::Tensor b);",
    cuda_sources=src,
    functions=["forward"],
)


class ModelNew(nn.Module):
    def __init__(self, in_channels, out_channels):
        super().__init__()
        self.conv = nn.ConvTranspose1d(in_channels, out_channels, 4, stride=2, padding=1)

    def forward(self, x):
        return ext.forward(x, self.conv.weight, self.conv.bias)
