"""correct: a tile with its halo in shared memory."""

import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

src = """
#include <torch/extension.h>

#define BX 16
#define BY 8

__global__ void depthwise3x3(const float* x, const float* w, float* y, int C, int H, int W) {
    __shared__ float tile[BY + 2][BX + 2];
    const int plane = blockIdx.z, c = plane % C;
    const int OH = H - 2, OW = W - 2;
    const int x0 = blockIdx.x * BX, y0 = blockIdx.y * BY;
    for (int i = threadIdx.y * BX + threadIdx.x; i < (BY + 2) * (BX + 2); i += BX * BY) {
        int r = i / (BX + 2), s = i % (BX + 2);
        int h = y0 + r, v = x0 + s;
        tile[r][s] = (h < H && v < W) ? x[(plane * H + h) * W + v] : 0.f;
    }
    __syncthreads();
    const int ow = x0 + threadIdx.x, oh = y0 + threadIdx.y;
    if (ow < OW && oh < OH) {
        float acc = 0.f;
        #pragma unroll
        for (int r = 0; r < 3; ++r)
            #pragma unroll
            for (int s = 0; s < 3; ++s) acc += tile[threadIdx.y + r][threadIdx.x + s] * w[c * 9 + r * 3 + s];
        y[(plane * OH + oh) * OW + ow] = acc;
    }
}

torch::Tensor depthwise(torch::Tensor x, torch::Tensor w) {
    int N = x.size(0), C = x.size(1), H = x.size(2), W = x.size(3);
    auto y = torch::empty({N, C, H - 2, W - 2}, x.options());
    dim3 grid((W - 2 + BX - 1) / BX, (H - 2 + BY - 1) / BY, N * C);
    depthwise3x3<<<grid, dim3(BX, BY)>>>(x.data_ptr<float>(), w.data_ptr<float>(), y.data_ptr<float>(), C, H, W);
    return y;
}
"""

ext = load_inline(
    name="depthwise_tile",
    cpp_sources="torch::Tensor depthwise(torch::Tensor x, torch::Tensor w);",
    cuda_sources=src,
    functions=["depthwise"],
)


class ModelNew(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.conv = nn.Conv2d(channels, channels, 3, groups=channels, bias=False)

    def forward(self, x):
        return ext.depthwise(x, self.conv.weight)
