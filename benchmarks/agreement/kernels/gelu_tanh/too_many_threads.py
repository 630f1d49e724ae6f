"""failed: 2048 threads a block."""

import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

gelu_source = """
#include <torch/extension.h>
#include <cuda_runtime.h>

__global__ void gelu_kernel(const float* x, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        float v = x[i];
        y[i] = 0.5f * v * (1.0f + tanhf(0.79788456f * (v + 0.044715f * v * v * v)));
    }
}

torch::Tensor gelu_cuda(torch::Tensor x) {
    auto y = torch::empty_like(x);
    int n = x.numel();
    const int block_size = 2048;
    gelu_kernel<<<(n + block_size - 1) / block_size, block_size>>>(x.data_ptr<float>(), y.data_ptr<float>(), n);
    cudaError_t err = cudaGetLastError();
    TORCH_CHECK(err == cudaSuccess, "gelu_kernel: ", cudaGetErrorString(err));
    return y;
}
"""

gelu_op = load_inline(
    name="gelu_2048",
    cpp_sources="torch::Tensor gelu_cuda(torch::Tensor x);",
    cuda_sources=gelu_source,
    functions=["gelu_cuda"],
)


class ModelNew(nn.Module):
    def forward(self, x):
        return gelu_op.gelu_cuda(x)
