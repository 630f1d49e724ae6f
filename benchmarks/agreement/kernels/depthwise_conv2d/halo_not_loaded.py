"""wrong: the tile has no halo, which counts as zeros."""

import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

src = """
#include <torch/extension.h>

#define T 8

__global__ void depthwise(const float* x, const float* w, float* y, int C, int H, int W) {
    __shared__ float tile[T][T];
    int plane = blockIdx.z, c = plane % C;
    int h = blockIdx.y * T + threadIdx.y, v = blockIdx.x * T + threadIdx.x;
    tile[threadIdx.y][threadIdx.x] = (h < H && v < W) ? x[(plane * H + h) * W + v] : 0.f;
    __syncthreads();
    if (h >= H - 2 || v >= W - 2) return;
    float acc = 0.f;
    for (int r = 0; r < 3; ++r)
        for (int s = 0; s < 3; ++s)
            if (threadIdx.y + r < T && threadIdx.x + s < T) acc += tile[threadIdx.y + r][threadIdx.x + s] * w[c * 9 + r * 3 + s];
    y[(plane * (H - 2) + h) * (W - 2) + v] = acc;
}

torch::Tensor depthwise_cuda(torch::Tensor x, torch::Tensor w) {
    int N = x.size(0), C = x.size(1), H = x.size(2), W = x.size(3);
    auto y = torch::empty({N, C, H - 2, W - 2}, x.options());
    depthwise<<<dim3((W + T - 1) / T, (H + T - 1) / T, N * C), dim3(T, T)>>>(x.data_ptr<float>(), w.data_ptr<float>(), y.data_ptr<float>(), C, H, W);
    return y;
}
"""

ext = load_inline(
    name="depthwise_no_halo",
    cpp_sources="torch::Tensor depthwise_cuda(torch::Tensor x, torch::Tensor w);",
    cuda_sources=src,
    functions=["depthwise_cuda"],
)


class ModelNew(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.conv = nn.Conv2d(channels, channels, 3, groups=channels, bias=False)

    def forward(self, x):
        return ext.depthwise_cuda(x, self.conv.weight)
