"""correct: a direct convolution with its stride and dilation as arguments."""

import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

conv1d_source = """
#include <torch/extension.h>

__global__ void conv1d_kernel(const float* x, const float* w, float* y, int N, int C, int L, int O, int K, int OL, int stride, int dilation) {
    int idx = blockIdx.x * blockDim.x + threadIdx.x;
    if (idx >= N * O * OL) return;
    int l = idx % OL;
    int o = (idx / OL) % O;
    int n = idx / (OL * O);
    float acc = 0.0f;
    for (int c = 0; c < C; ++c) {
        for (int k = 0; k < K; ++k) {
            acc += x[(n * C + c) * L + l * stride + k * dilation] * w[(o * C + c) * K + k];
        }
    }
    y[idx] = acc;
}

torch::Tensor conv1d_cuda(torch::Tensor x, torch::Tensor w, int stride, int dilation) {
    int N = x.size(0), C = x.size(1), L = x.size(2), O = w.size(0), K = w.size(2);
    int OL = (L - dilation * (K - 1) - 1) / stride + 1;
    auto y = torch::empty({N, O, OL}, x.options());
    int total = N * O * OL;
    conv1d_kernel<<<(total + 127) / 128, 128>>>(x.data_ptr<float>(), w.data_ptr<float>(), y.data_ptr<float>(), N, C, L, O, K, OL, stride, dilation);
    return y;
}
"""

conv1d = load_inline(
    name="conv1d_direct",
    cpp_sources="torch::Tensor conv1d_cuda(torch::Tensor x, torch::Tensor w, int stride, int dilation);",
    cuda_sources=conv1d_source,
    functions=["conv1d_cuda"],
)


class ModelNew(nn.Module):
    def __init__(self, in_channels, out_channels):
        super().__init__()
        self.conv = nn.Conv1d(in_channels, out_channels, 5, stride=2, dilation=3, bias=False)

    def forward(self, x):
        return conv1d.conv1d_cuda(x, self.conv.weight, 2, 3)
