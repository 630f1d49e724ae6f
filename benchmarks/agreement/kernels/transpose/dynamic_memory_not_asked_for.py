"""failed: 64 KB of dynamic shared memory without the attribute that allows it, and the launch is checked."""

import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

src = """
#include <torch/extension.h>
#include <c10/cuda/CUDAException.h>

__global__ void transpose(const float* x, float* y, int rows, int cols) {
    extern __shared__ float tile[];
    int r0 = blockIdx.y * 128, c0 = blockIdx.x * 128;
    for (int i = threadIdx.x; i < 128 * 128; i += blockDim.x) {
        int r = r0 + i / 128, c = c0 + i % 128;
        if (r < rows && c < cols) tile[i] = x[r * cols + c];
    }
    __syncthreads();
    for (int i = threadIdx.x; i < 128 * 128; i += blockDim.x) {
        int c = c0 + i / 128, r = r0 + i % 128;
        if (r < rows && c < cols) y[c * rows + r] = tile[(i % 128) * 128 + i / 128];
    }
}

torch::Tensor transpose_cuda(torch::Tensor x) {
    int rows = x.size(0), cols = x.size(1);
    auto y = torch::empty({cols, rows}, x.options());
    transpose<<<dim3((cols + 127) / 128, (rows + 127) / 128), 256, 128 * 128 * sizeof(float)>>>(x.data_ptr<float>(), y.data_ptr<float>(), rows, cols);
    C10_CUDA_KERNEL_LAUNCH_CHECK();
    return y;
}
"""

ext = load_inline(name="transpose_64k", cpp_sources="torch::Tensor transpose_cuda(torch::Tensor x);", cuda_sources=src, functions=["transpose_cuda"])


class ModelNew(nn.Module):
    def forward(self, x):
        return ext.transpose_cuda(x)
