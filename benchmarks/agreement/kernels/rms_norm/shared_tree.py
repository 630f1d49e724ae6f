"""correct: a tree in shared memory, one block a row."""

import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

rms_norm_source = """
#include <torch/extension.h>
#include <cuda_runtime.h>

__global__ void rms_norm_kernel(const float* __restrict__ input, const float* __restrict__ weight,
                                float* __restrict__ output, int hidden, float eps) {
    __shared__ float shared[64];
    int row = blockIdx.x;
    float acc = 0.0f;
    for (int i = threadIdx.x; i < hidden; i += blockDim.x) {
        float v = input[row * hidden + i];
        acc = fmaf(v, v, acc);
    }
    shared[threadIdx.x] = acc;
    __syncthreads();
    for (unsigned s = 32; s > 0; s >>= 1) {
        if (threadIdx.x < s) shared[threadIdx.x] += shared[threadIdx.x + s];
        __syncthreads();
    }
    float scale = rsqrtf(shared[0] / hidden + eps);
    for (int i = threadIdx.x; i < hidden; i += blockDim.x)
        output[row * hidden + i] = input[row * hidden + i] * scale * weight[i];
}

torch::Tensor rms_norm_cuda(torch::Tensor input, torch::Tensor weight, double eps) {
    auto x = input.contiguous();
    auto output = torch::empty_like(x);
    int hidden = x.size(-1);
    int rows = x.numel() / hidden;
    rms_norm_kernel<<<rows, 64>>>(x.data_ptr<float>(), weight.data_ptr<float>(), output.data_ptr<float>(), hidden, eps);
    return output;
}
"""

rms = load_inline(
    name="rms_norm_tree",
    cpp_sources="torch::Tensor rms_norm_cuda(torch::Tensor input, torch::Tensor weight, double eps);",
    cuda_sources=rms_norm_source,
    functions=["rms_norm_cuda"],
)


class ModelNew(nn.Module):
    def __init__(self, dim, eps=1e-6):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(dim))
        self.eps = eps

    def forward(self, x):
        return rms.rms_norm_cuda(x, self.weight, self.eps)
