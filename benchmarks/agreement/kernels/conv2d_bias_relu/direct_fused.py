"""correct: convolution, its bias, ReLU and the second bias in one kernel."""

import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

src = """
#include <torch/extension.h>

__global__ void conv_fused(const float* __restrict__ x, const float* __restrict__ w, const float* __restrict__ cb,
                           const float* __restrict__ bias, float* __restrict__ y, int N, int C, int H, int W, int O) {
    int ow = blockIdx.x * blockDim.x + threadIdx.x;
    int oh = blockIdx.y * blockDim.y + threadIdx.y;
    int o = blockIdx.z % O, n = blockIdx.z / O;
    if (ow >= W || oh >= H) return;
    float acc = cb[o];
    for (int c = 0; c < C; ++c) {
        #pragma unroll
        for (int r = 0; r < 3; ++r) {
            #pragma unroll
            for (int s = 0; s < 3; ++s) {
                int ih = oh + r - 1, iw = ow + s - 1;
                if (ih >= 0 && ih < H && iw >= 0 && iw < W)
                    acc += x[((n * C + c) * H + ih) * W + iw] * w[((o * C + c) * 3 + r) * 3 + s];
            }
        }
    }
    y[((n * O + o) * H + oh) * W + ow] = fmaxf(acc, 0.f) + bias[o];
}

torch::Tensor conv_fused_cuda(torch::Tensor x, torch::Tensor w, torch::Tensor cb, torch::Tensor bias) {
    int N = x.size(0), C = x.size(1), H = x.size(2), W = x.size(3), O = w.size(0);
    auto y = torch::empty({N, O, H, W}, x.options());
    dim3 block(16, 8), grid((W + 15) / 16, (H + 7) / 8, N * O);
    conv_fused<<<grid, block>>>(x.data_ptr<float>(), w.data_ptr<float>(), cb.data_ptr<float>(), bias.data_ptr<float>(), y.data_ptr<float>(), N, C, H, W, O);
    return y;
}
"""

ext = load_inline(
    name="conv_fused",
    cpp_sources="torch::Tensor conv_fused_cuda(torch::Tensor x, torch::Tensor w, torch::Tensor cb, torch::Tensor bias);",
    cuda_sources=src,
    functions=["conv_fused_cuda"],
)


class ModelNew(nn.Module):
    def __init__(self, in_channels, out_channels):
        super().__init__()
        self.conv = nn.Conv2d(in_channels, out_channels, 3, padding=1)
        self.bias = nn.Parameter(torch.randn(out_channels, 1, 1))

    def forward(self, x):
        return ext.conv_fused_cuda(x, self.conv.weight, self.conv.bias, self.bias)
