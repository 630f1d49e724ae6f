"""correct: sums by atomics, then a kernel for each element, on the current stream."""

import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

source = """
#include <torch/extension.h>
#include <ATen/cuda/CUDAContext.h>

__global__ void channel_sums(const float* x, float* sums, int C, int HW) {
    int c = blockIdx.x % C;
    float s = 0.f;
    for (int i = threadIdx.x; i < HW; i += blockDim.x) s += x[blockIdx.x * HW + i];
    for (int o = 16; o > 0; o >>= 1) s += __shfl_down_sync(0xffffffff, s, o);
    if ((threadIdx.x & 31) == 0) atomicAdd(&sums[c], s);
}

__global__ void channel_squares(const float* x, const float* sums, float* squares, int C, int HW, float count) {
    int c = blockIdx.x % C;
    float mean = sums[c] / count;
    float s = 0.f;
    for (int i = threadIdx.x; i < HW; i += blockDim.x) {
        float d = x[blockIdx.x * HW + i] - mean;
        s += d * d;
    }
    for (int o = 16; o > 0; o >>= 1) s += __shfl_down_sync(0xffffffff, s, o);
    if ((threadIdx.x & 31) == 0) atomicAdd(&squares[c], s);
}

__global__ void normalize(const float* x, const float* sums, const float* squares, const float* w, const float* b, float* y,
                          int total, int C, int HW, float count, float eps) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= total) return;
    int c = i / HW % C;
    y[i] = (x[i] - sums[c] / count) * rsqrtf(squares[c] / count + eps) * w[c] + b[c];
}

torch::Tensor bn_forward(torch::Tensor x, torch::Tensor w, torch::Tensor b, double eps) {
    const int N = x.size(0), C = x.size(1), HW = x.size(2) * x.size(3);
    auto sums = torch::zeros({C}, x.options());
    auto squares = torch::zeros({C}, x.options());
    auto y = torch::empty_like(x);
    auto stream = at::cuda::getCurrentCUDAStream();
    const float count = (float)N * HW;
    channel_sums<<<N * C, 64, 0, stream>>>(x.data_ptr<float>(), sums.data_ptr<float>(), C, HW);
    channel_squares<<<N * C, 64, 0, stream>>>(x.data_ptr<float>(), sums.data_ptr<float>(), squares.data_ptr<float>(), C, HW, count);
    const int total = x.numel();
    normalize<<<(total + 255) / 256, 256, 0, stream>>>(x.data_ptr<float>(), sums.data_ptr<float>(), squares.data_ptr<float>(),
        w.data_ptr<float>(), b.data_ptr<float>(), y.data_ptr<float>(), total, C, HW, count, (float)eps);
    return y;
}
"""

bn_atomic = load_inline(
    name="bn_atomic",
    cpp_sources="torch::Tensor bn_forward(torch::Tensor x, torch::Tensor w, torch::Tensor b, double eps);",
    cuda_sources=source,
    functions=["bn_forward"],
)


class ModelNew(nn.Module):
    def __init__(self, channels, eps=1e-5):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(channels))
        self.bias = nn.Parameter(torch.randn(channels))
        self.eps = eps

    def forward(self, x):
        return bn_atomic.bn_forward(x, self.weight, self.bias, self.eps)
