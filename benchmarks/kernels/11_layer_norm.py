"""Mean and variance in one block, weight and bias."""

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.cpp_extension import load_inline

cuda_source = """
#include <torch/extension.h>
#include <cuda_runtime.h>

__inline__ __device__ float block_sum(float v) {
    static __shared__ float shared[32];
    int lane = threadIdx.x & 31, wid = threadIdx.x >> 5;
    for (int o = 16; o > 0; o >>= 1) v += __shfl_down_sync(0xffffffff, v, o);
    __syncthreads();
    if (lane == 0) shared[wid] = v;
    __syncthreads();
    v = (threadIdx.x < (blockDim.x + 31) / 32) ? shared[lane] : 0.0f;
    if (wid == 0)
        for (int o = 16; o > 0; o >>= 1) v += __shfl_down_sync(0xffffffff, v, o);
    __shared__ float total;
    if (threadIdx.x == 0) total = v;
    __syncthreads();
    return total;
}

__global__ void layer_norm_kernel(const float* x, const float* g, const float* b, float* y, int d, float eps) {
    const float* row = x + blockIdx.x * d;
    float s = 0.0f;
    for (int i = threadIdx.x; i < d; i += blockDim.x) s += row[i];
    float mean = block_sum(s) / d;
    float q = 0.0f;
    for (int i = threadIdx.x; i < d; i += blockDim.x) q += (row[i] - mean) * (row[i] - mean);
    float rstd = rsqrtf(block_sum(q) / d + eps);
    for (int i = threadIdx.x; i < d; i += blockDim.x)
        y[blockIdx.x * d + i] = (row[i] - mean) * rstd * g[i] + b[i];
}

torch::Tensor layer_norm(torch::Tensor x, torch::Tensor weight, torch::Tensor bias, double eps) {
    TORCH_CHECK(x.dim() == 2, "expected a matrix, got ", x.dim(), " dimensions");
    auto y = torch::empty_like(x);
    layer_norm_kernel<<<x.size(0), 64>>>(x.data_ptr<float>(), weight.data_ptr<float>(), bias.data_ptr<float>(),
                                         y.data_ptr<float>(), x.size(1), (float)eps);
    return y;
}
"""

cpp_source = "torch::Tensor layer_norm(torch::Tensor x, torch::Tensor weight, torch::Tensor bias, double eps);"

extension = load_inline(
    name="layer_norm",
    cpp_sources=cpp_source,
    cuda_sources=cuda_source,
    functions=["layer_norm"],
)


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.linspace(0.5, 1.5, 64))
        self.bias = nn.Parameter(torch.linspace(-1, 1, 64))


    def forward(self, x):
        return F.layer_norm(x, (64,), self.weight, self.bias)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.linspace(0.5, 1.5, 64))
        self.bias = nn.Parameter(torch.linspace(-1, 1, 64))


    def forward(self, x):
        return extension.layer_norm(x, self.weight, self.bias, 1e-5)


def get_inputs():
    return [torch.randn(32, 64)]


def get_init_inputs():
    return []
