"""correct: a functor template, a guard of the device, blocks from the device's properties."""

import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

src = """
#include <torch/extension.h>
#include <ATen/cuda/CUDAContext.h>
#include <c10/cuda/CUDAGuard.h>

struct LeakyRelu {
    float slope;
    __device__ float operator()(float v) const { return v > 0.f ? v : slope * v; }
};

template <typename F>
__global__ void map_kernel(const float* in, float* out, int64_t n, F f) {
    const int64_t step = (int64_t)gridDim.x * blockDim.x;
    for (int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += step) out[i] = f(in[i]);
}

torch::Tensor apply(torch::Tensor x, double slope) {
    const c10::cuda::CUDAGuard guard(x.device());
    auto out = torch::empty_like(x);
    const int sms = at::cuda::getCurrentDeviceProperties()->multiProcessorCount;
    map_kernel<<<2 * sms, 128, 0, at::cuda::getCurrentCUDAStream()>>>(x.data_ptr<float>(), out.data_ptr<float>(), x.numel(), LeakyRelu{(float)slope});
    C10_CUDA_KERNEL_LAUNCH_CHECK();
    return out;
}
"""

ext = load_inline(name="leaky_map", cpp_sources="torch::Tensor apply(torch::Tensor x, double slope);", cuda_sources=src, functions={"apply": "leaky relu of every element"})


class ModelNew(nn.Module):
    def forward(self, x):
        return ext.apply(x, 0.1)
