"""wrong: height and width of the filter are swapped."""

import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

src = """
#include <torch/extension.h>

__global__ void conv(const float* x, const float* w, const float* cb, const float* bias, float* y, int N, int C, int H, int W, int O) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= N * O * H * W) return;
    int q = i % W, p = i / W % H, o = i / (W * H) % O, n = i / (W * H * O);
    float acc = 0.f;
    for (int c = 0; c < C; ++c)
        for (int r = -1; r <= 1; ++r)
            for (int s = -1; s <= 1; ++s) {
                int h = p + r, v = q + s;
                if (h < 0 || h >= H || v < 0 || v >= W) continue;
                acc += x[((n * C + c) * H + h) * W + v] * w[((o * C + c) * 3 + s + 1) * 3 + r + 1];
            }
    acc += cb[o];
    y[i] = (acc > 0 ? acc : 0) + bias[o];
}

torch::Tensor conv_cuda(torch::Tensor x, torch::Tensor w, torch::Tensor cb, torch::Tensor bias) {
    auto y = torch::empty({x.size(0), w.size(0), x.size(2), x.size(3)}, x.options());
    conv<<<(y.numel() + 255) / 256, 256>>>(x.data_ptr<float>(), w.data_ptr<float>(), cb.data_ptr<float>(), bias.data_ptr<float>(),
        y.data_ptr<float>(), x.size(0), x.size(1), x.size(2), x.size(3), w.size(0));
    return y;
}
"""

ext = load_inline(
    name="conv_flipped",
    cpp_sources="torch::Tensor conv_cuda(torch::Tensor x, torch::Tensor w, torch::Tensor cb, torch::Tensor bias);",
    cuda_sources=src,
    functions=["conv_cuda"],
)


class ModelNew(nn.Module):
    def __init__(self, in_channels, out_channels):
        super().__init__()
        self.conv = nn.Conv2d(in_channels, out_channels, 3, padding=1)
        self.bias = nn.Parameter(torch.randn(out_channels, 1, 1))

    def forward(self, x):
        return ext.conv_cuda(x, self.conv.weight, self.conv.bias, self.bias)
