"""correct: a block for each channel, two passes."""

import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

bn_source = """
#include <torch/extension.h>

template <int BLOCK>
__device__ float block_reduce(float v) {
    __shared__ float s[BLOCK];
    s[threadIdx.x] = v;
    __syncthreads();
    #pragma unroll
    for (int k = BLOCK / 2; k > 0; k >>= 1) {
        if (threadIdx.x < k) s[threadIdx.x] += s[threadIdx.x + k];
        __syncthreads();
    }
    float r = s[0];
    __syncthreads();
    return r;
}

template <int BLOCK>
__global__ void batch_norm_train(const float* x, const float* w, const float* b, float* y, int N, int C, int HW, float eps) {
    int c = blockIdx.x;
    int count = N * HW;
    float sum = 0.f;
    for (int i = threadIdx.x; i < count; i += BLOCK) {
        int n = i / HW, p = i - n * HW;
        sum += x[(n * C + c) * HW + p];
    }
    float mean = block_reduce<BLOCK>(sum) / count;
    float sq = 0.f;
    for (int i = threadIdx.x; i < count; i += BLOCK) {
        int n = i / HW, p = i - n * HW;
        float d = x[(n * C + c) * HW + p] - mean;
        sq += d * d;
    }
    float rstd = rsqrtf(block_reduce<BLOCK>(sq) / count + eps);
    float scale = w[c] * rstd, shift = b[c] - mean * scale;
    for (int i = threadIdx.x; i < count; i += BLOCK) {
        int n = i / HW, p = i - n * HW;
        int at = (n * C + c) * HW + p;
        y[at] = (x[at] - mean) * rstd * w[c] + b[c];
    }
    (void)shift;
}

torch::Tensor batch_norm(torch::Tensor x, torch::Tensor w, torch::Tensor b, double eps) {
    auto y = torch::empty_like(x);
    batch_norm_train<256><<<x.size(1), 256>>>(x.data_ptr<float>(), w.data_ptr<float>(), b.data_ptr<float>(), y.data_ptr<float>(),
                                              x.size(0), x.size(1), x.size(2) * x.size(3), (float)eps);
    return y;
}
"""

bn = load_inline(
    name="bn_channel_blocks",
    cpp_sources="torch::Tensor batch_norm(torch::Tensor x, torch::Tensor w, torch::Tensor b, double eps);",
    cuda_sources=bn_source,
    functions=["batch_norm"],
)


class ModelNew(nn.Module):
    def __init__(self, channels, eps=1e-5):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(channels))
        self.bias = nn.Parameter(torch.randn(channels))
        self.eps = eps

    def forward(self, x):
        return bn.batch_norm(x, self.weight, self.bias, self.eps)
