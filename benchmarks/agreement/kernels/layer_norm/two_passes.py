"""correct: a warp a row, mean first and variance after."""

import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

layer_norm_cuda = """
#include <torch/extension.h>
#include <cuda_runtime.h>

#define FULL_MASK 0xffffffff

__device__ __forceinline__ float warp_all_sum(float val) {
    #pragma unroll
    for (int mask = 16; mask > 0; mask /= 2) val += __shfl_xor_sync(FULL_MASK, val, mask);
    return val;
}

__global__ void ln_kernel(const float* __restrict__ x, const float* __restrict__ gamma, const float* __restrict__ beta,
                          float* __restrict__ y, int rows, int dim, float eps) {
    int row = blockIdx.x * blockDim.y + threadIdx.y;
    if (row >= rows) return;
    const float* xr = x + row * dim;
    float sum = 0.f;
    for (int i = threadIdx.x; i < dim; i += 32) sum += xr[i];
    float mean = warp_all_sum(sum) / dim;
    float sq = 0.f;
    for (int i = threadIdx.x; i < dim; i += 32) {
        float d = xr[i] - mean;
        sq += d * d;
    }
    float inv_std = rsqrtf(warp_all_sum(sq) / dim + eps);
    for (int i = threadIdx.x; i < dim; i += 32) y[row * dim + i] = (xr[i] - mean) * inv_std * gamma[i] + beta[i];
}

torch::Tensor layer_norm(torch::Tensor x, torch::Tensor gamma, torch::Tensor beta, float eps) {
    auto y = torch::empty_like(x);
    int dim = x.size(-1);
    int rows = x.numel() / dim;
    ln_kernel<<<(rows + 3) / 4, dim3(32, 4)>>>(x.data_ptr<float>(), gamma.data_ptr<float>(), beta.data_ptr<float>(),
                                              y.data_ptr<float>(), rows, dim, eps);
    return y;
}
"""

layer_norm_cpp = "torch::Tensor layer_norm(torch::Tensor x, torch::Tensor gamma, torch::Tensor beta, float eps);"

ln_ext = load_inline(
    name="layer_norm_warp",
    cpp_sources=layer_norm_cpp,
    cuda_sources=layer_norm_cuda,
    functions=["layer_norm"],
)


class ModelNew(nn.Module):
    def __init__(self, dim, eps=1e-5):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(dim))
        self.bias = nn.Parameter(torch.randn(dim))
        self.eps = eps

    def forward(self, x):
        return ln_ext.layer_norm(x, self.weight, self.bias, self.eps)
