"""wrong: the weight is read with the channels in the order of a convolution."""

import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

src = """
#include <torch/extension.h>

__global__ void ct1d(const float* x, const float* w, const float* b, float* y, int C, int L, int O, int OL) {
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    int o = blockIdx.y, n = blockIdx.z;
    if (t >= OL) return;
    float acc = b[o];
    for (int c = 0; c < C; ++c)
        for (int k = 0; k < 4; ++k) {
            int p = t + 1 - k;
            if (p >= 0 && p % 2 == 0 && p / 2 < L) acc += x[(n * C + c) * L + p / 2] * w[(o * C + c) * 4 + k];
        }
    y[(n * O + o) * OL + t] = acc;
}

torch::Tensor ct1d_cuda(torch::Tensor x, torch::Tensor w, torch::Tensor b) {
    int OL = (x.size(2) - 1) * 2 + 2;
    auto y = torch::empty({x.size(0), w.size(1), OL}, x.options());
    ct1d<<<dim3((OL + 31) / 32, w.size(1), x.size(0)), 32>>>(x.data_ptr<float>(), w.data_ptr<float>(), b.data_ptr<float>(), y.data_ptr<float>(),
        x.size(1), x.size(2), w.size(1), OL);
    return y;
}
"""

ext = load_inline(
    name="ct1d_weight",
    cpp_sources="torch::Tensor ct1d_cuda(torch::Tensor x, torch::Tensor w, torch::Tensor b);",
    cuda_sources=src,
    functions=["ct1d_cuda"],
)


class ModelNew(nn.Module):
    def __init__(self, in_channels, out_channels):
        super().__init__()
        self.conv = nn.ConvTranspose1d(in_channels, out_channels, 4, stride=2, padding=1)

    def forward(self, x):
        return ext.ct1d_cuda(x, self.conv.weight, self.conv.bias)
