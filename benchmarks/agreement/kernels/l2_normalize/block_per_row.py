"""correct: a block for each row, and the smallest length that F.normalize divides by."""

import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

l2_source = """
#include <torch/extension.h>

__global__ void l2_normalize_kernel(const float* __restrict__ x, float* __restrict__ y, int dim) {
    __shared__ float warp_sums[4];
    const float* in = x + blockIdx.x * dim;
    float s = 0.f;
    for (int i = threadIdx.x; i < dim; i += blockDim.x) s += in[i] * in[i];
    for (int o = 16; o > 0; o >>= 1) s += __shfl_down_sync(0xffffffffu, s, o);
    if (threadIdx.x % 32 == 0) warp_sums[threadIdx.x / 32] = s;
    __syncthreads();
    float total = warp_sums[0] + warp_sums[1] + warp_sums[2] + warp_sums[3];
    float denom = fmaxf(sqrtf(total), 1e-12f);
    for (int i = threadIdx.x; i < dim; i += blockDim.x) y[blockIdx.x * dim + i] = in[i] / denom;
}

torch::Tensor l2_normalize(torch::Tensor x) {
    auto y = torch::empty_like(x);
    l2_normalize_kernel<<<x.size(0), 128>>>(x.data_ptr<float>(), y.data_ptr<float>(), x.size(1));
    return y;
}
"""

l2 = load_inline(
    name="l2_normalize_rows",
    cpp_sources="torch::Tensor l2_normalize(torch::Tensor x);",
    cuda_sources=l2_source,
    functions=["l2_normalize"],
)


class ModelNew(nn.Module):
    def forward(self, x):
        return l2.l2_normalize(x)
