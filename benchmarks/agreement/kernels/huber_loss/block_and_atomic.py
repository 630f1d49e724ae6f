"""correct: a block adds its part with an atomic."""

import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

huber_source = """
#include <torch/extension.h>
#include <ATen/cuda/CUDAContext.h>

__device__ __forceinline__ float smooth_l1(float d) {
    const float a = fabsf(d);
    return a < 1.0f ? 0.5f * d * d : a - 0.5f;
}

template <int THREADS>
__global__ void huber_kernel(const float* __restrict__ x, const float* __restrict__ y, float* __restrict__ out, int n, float inv_n) {
    float sum = 0.0f;
    #pragma unroll 2
    for (int i = blockIdx.x * THREADS + threadIdx.x; i < n; i += gridDim.x * THREADS) sum += smooth_l1(x[i] - y[i]);
    __shared__ float warp_sum[THREADS / 32];
    for (int o = 16; o > 0; o >>= 1) sum += __shfl_xor_sync(0xffffffffu, sum, o);
    if (threadIdx.x % 32 == 0) warp_sum[threadIdx.x / 32] = sum;
    __syncthreads();
    if (threadIdx.x < 32) {
        float v = threadIdx.x < THREADS / 32 ? warp_sum[threadIdx.x] : 0.0f;
        for (int o = 16; o > 0; o >>= 1) v += __shfl_xor_sync(0xffffffffu, v, o);
        if (threadIdx.x == 0) atomicAdd(out, v * inv_n);
    }
}

torch::Tensor huber(torch::Tensor predictions, torch::Tensor targets) {
    auto out = torch::zeros({}, predictions.options());
    const int n = predictions.numel();
    huber_kernel<128><<<9, 128, 0, at::cuda::getCurrentCUDAStream()>>>(predictions.data_ptr<float>(), targets.data_ptr<float>(), out.data_ptr<float>(), n, 1.0f / n);
    return out;
}
"""

ext = load_inline(
    name="huber_atomic",
    cpp_sources="torch::Tensor huber(torch::Tensor predictions, torch::Tensor targets);",
    cuda_sources=huber_source,
    functions=["huber"],
    extra_cuda_cflags=["-O3", "--use_fast_math"],
)


class ModelNew(nn.Module):
    def forward(self, predictions, targets):
        return ext.huber(predictions, targets)
