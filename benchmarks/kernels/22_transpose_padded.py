"""A padded shared tile against bank conflicts."""

import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

cuda_source = """
#include <torch/extension.h>

constexpr int kTile = 32;
constexpr int kRows = 8;

__global__ void transpose_kernel(const float* in, float* out, int rows, int cols) {
    __shared__ float tile[kTile][kTile + 1];
    int x = blockIdx.x * kTile + threadIdx.x;
    int y = blockIdx.y * kTile + threadIdx.y;
    for (int j = 0; j < kTile; j += kRows)
        if (x < cols && y + j < rows) tile[threadIdx.y + j][threadIdx.x] = in[(y + j) * cols + x];
    __syncthreads();
    x = blockIdx.y * kTile + threadIdx.x;
    y = blockIdx.x * kTile + threadIdx.y;
    for (int j = 0; j < kTile; j += kRows)
        if (x < rows && y + j < cols) out[(y + j) * rows + x] = tile[threadIdx.x][threadIdx.y + j];
}

torch::Tensor transpose(torch::Tensor x) {
    const int rows = x.size(0), cols = x.size(1);
    auto out = torch::empty({cols, rows}, x.options());
    dim3 grid((cols + kTile - 1) / kTile, (rows + kTile - 1) / kTile), block(kTile, kRows);
    transpose_kernel<<<grid, block>>>(x.data_ptr<float>(), out.data_ptr<float>(), rows, cols);
    return out;
}
"""

cpp_source = "torch::Tensor transpose(torch::Tensor x);"

extension = load_inline(
    name="transpose_padded",
    cpp_sources=cpp_source,
    cuda_sources=cuda_source,
    functions=["transpose"],
)


class Model(nn.Module):
    def forward(self, x):
        return x.t().contiguous()


class ModelNew(nn.Module):
    def forward(self, x):
        return extension.transpose(x)


def get_inputs():
    return [torch.randn(45, 70)]


def get_init_inputs():
    return []
