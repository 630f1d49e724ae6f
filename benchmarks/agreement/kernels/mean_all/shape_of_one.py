"""wrong: a vector of one element in the place of a scalar."""

import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

cuda_src = """
#include <torch/extension.h>

__global__ void mean_kernel(const float* __restrict__ x, float* __restrict__ result, int n) {
    __shared__ float tile[1024];
    float acc = 0.f;
    for (int i = threadIdx.x; i < n; i += 1024) acc += x[i];
    tile[threadIdx.x] = acc;
    __syncthreads();
    for (int s = 512; s > 0; s >>= 1) {
        if (threadIdx.x < s) tile[threadIdx.x] += tile[threadIdx.x + s];
        __syncthreads();
    }
    if (threadIdx.x == 0) result[0] = tile[0] / static_cast<float>(n);
}

torch::Tensor global_mean(torch::Tensor x) {
    auto result = torch::zeros({1}, x.options());
    mean_kernel<<<1, 1024>>>(x.data_ptr<float>(), result.data_ptr<float>(), x.numel());
    return result;
}
"""

gm = load_inline(
    name="global_mean_one",
    cpp_sources="torch::Tensor global_mean(torch::Tensor x);",
    cuda_sources=cuda_src,
    functions=["global_mean"],
)


class ModelNew(nn.Module):
    def forward(self, x):
        return gm.global_mean(x)
