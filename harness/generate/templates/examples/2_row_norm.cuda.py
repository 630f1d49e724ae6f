import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

cpp_source = "torch::Tensor row_norm(torch::Tensor x, double eps);"

cuda_source = """
#include <torch/extension.h>

// One block a row. Every thread sums squares, the block adds the sums up in shared memory.
__global__ void row_norm_kernel(const float* x, float* out, int columns, float eps) {
    __shared__ float partial[256];
    const float* row = x + (int64_t)blockIdx.x * columns;
    float sum = 0.0f;
    for (int i = threadIdx.x; i < columns; i += blockDim.x) {
        sum += row[i] * row[i];
    }
    partial[threadIdx.x] = sum;
    __syncthreads();
    for (int half = blockDim.x / 2; half > 0; half /= 2) {
        if (threadIdx.x < half) {
            partial[threadIdx.x] += partial[threadIdx.x + half];
        }
        __syncthreads();
    }
    const float scale = 1.0f / (sqrtf(partial[0]) + eps);
    float* out_row = out + (int64_t)blockIdx.x * columns;
    for (int i = threadIdx.x; i < columns; i += blockDim.x) {
        out_row[i] = row[i] * scale;
    }
}

torch::Tensor row_norm(torch::Tensor x, double eps) {
    x = x.contiguous();
    auto out = torch::empty_like(x);
    row_norm_kernel<<<x.size(0), 256>>>(x.data_ptr<float>(), out.data_ptr<float>(), x.size(1), eps);
    return out;
}
"""

extension = load_inline(name="row_norm", cpp_sources=cpp_source, cuda_sources=cuda_source, functions=["row_norm"])


class ModelNew(nn.Module):
    def __init__(self, eps):
        super().__init__()
        self.eps = eps

    def forward(self, x):
        return extension.row_norm(x, self.eps)
