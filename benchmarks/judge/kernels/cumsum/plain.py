"""One block a row, scanned by Hillis and Steele in pieces of 128 with a carry."""

import torch
from torch.utils.cpp_extension import load_inline

SOURCE = """
#include <torch/extension.h>

__global__ void cumsum_kernel(const float* x, float* y, int dim) {
    __shared__ float piece[128];
    int row = blockIdx.x;
    size_t first = (size_t)row * dim, step = 1;
    float carry = 0.0f;
    for (int start = 0; start < dim; start += 128) {
        int i = start + threadIdx.x;
        float v = i < dim ? x[first + i * step] : 0.0f;
        piece[threadIdx.x] = v;
        __syncthreads();  // the piece is there
        for (int offset = 1; offset < 128; offset <<= 1) {
            float before = threadIdx.x >= offset ? piece[threadIdx.x - offset] : 0.0f;
            __syncthreads();
            piece[threadIdx.x] = piece[threadIdx.x] + before;
            __syncthreads();
        }
        if (i < dim) y[first + i * step] = carry + piece[threadIdx.x];
        carry += piece[127];
        __syncthreads();
    }
}

torch::Tensor cumsum(torch::Tensor x) {
    auto y = torch::empty_like(x);
    int dim = x.size(2), rows = x.size(0) * x.size(1);
    cumsum_kernel<<<rows, 128>>>(x.data_ptr<float>(), y.data_ptr<float>(), dim);
    return y;
}
"""

extension = load_inline(
    name="cumsum_plain",
    cpp_sources="torch::Tensor cumsum(torch::Tensor x);",
    cuda_sources=SOURCE,
    functions=["cumsum"],
)


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return extension.cumsum(x)
