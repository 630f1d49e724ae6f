"""correct: the weights are copied into constant memory."""

import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

src = """
#include <torch/extension.h>
#include <cuda_runtime.h>

__constant__ float c_weight[1024];

__global__ void conv1d_const(const float* x, float* y, int C, int L, int O, int K, int OL) {
    int l = blockIdx.x * blockDim.x + threadIdx.x;
    int o = blockIdx.y, n = blockIdx.z;
    if (l >= OL) return;
    float acc = 0.f;
    for (int c = 0; c < C; ++c) {
        const float* xp = x + (n * C + c) * L + 2 * l;
        const float* wp = c_weight + (o * C + c) * K;
        for (int k = 0; k < K; ++k) acc += xp[3 * k] * wp[k];
    }
    y[(n * O + o) * OL + l] = acc;
}

torch::Tensor conv1d_const_cuda(torch::Tensor x, torch::Tensor w) {
    TORCH_CHECK(w.numel() <= 1024, "the weights do not fit into constant memory");
    cudaMemcpyToSymbol(c_weight, w.data_ptr<float>(), w.numel() * sizeof(float), 0, cudaMemcpyDeviceToDevice);
    int C = x.size(1), L = x.size(2), O = w.size(0), K = w.size(2);
    int OL = (L - 3 * (K - 1) - 1) / 2 + 1;
    auto y = torch::empty({x.size(0), O, OL}, x.options());
    conv1d_const<<<dim3((OL + 31) / 32, O, x.size(0)), 32>>>(x.data_ptr<float>(), y.data_ptr<float>(), C, L, O, K, OL);
    return y;
}
"""

ext = load_inline(
    name="conv1d_constant",
    cpp_sources="torch::Tensor conv1d_const_cuda(torch::Tensor x, torch::Tensor w);",
    cuda_sources=src,
    functions=["conv1d_const_cuda"],
)


class ModelNew(nn.Module):
    def __init__(self, in_channels, out_channels):
        super().__init__()
        self.conv = nn.Conv1d(in_channels, out_channels, 5, stride=2, dilation=3, bias=False)

    def forward(self, x):
        return ext.conv1d_const_cuda(x, self.conv.weight)
