"""correct: tiles of 32 by 33, eight rows of threads."""

import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

src = """
#include <torch/extension.h>

const int TILE_DIM = 32;
const int BLOCK_ROWS = 8;

__global__ void transpose_kernel(float* odata, const float* idata, int rows, int cols) {
    __shared__ float tile[TILE_DIM][TILE_DIM + 1];
    int x = blockIdx.x * TILE_DIM + threadIdx.x;
    int y = blockIdx.y * TILE_DIM + threadIdx.y;
    for (int j = 0; j < TILE_DIM; j += BLOCK_ROWS)
        if (x < cols && y + j < rows) tile[threadIdx.y + j][threadIdx.x] = idata[(y + j) * cols + x];
    __syncthreads();
    x = blockIdx.y * TILE_DIM + threadIdx.x;
    y = blockIdx.x * TILE_DIM + threadIdx.y;
    for (int j = 0; j < TILE_DIM; j += BLOCK_ROWS)
        if (x < rows && y + j < cols) odata[(y + j) * rows + x] = tile[threadIdx.x][threadIdx.y + j];
}

torch::Tensor transpose(torch::Tensor x) {
    int rows = x.size(0), cols = x.size(1);
    auto y = torch::empty({cols, rows}, x.options());
    dim3 grid((cols + TILE_DIM - 1) / TILE_DIM, (rows + TILE_DIM - 1) / TILE_DIM);
    transpose_kernel<<<grid, dim3(TILE_DIM, BLOCK_ROWS)>>>(y.data_ptr<float>(), x.data_ptr<float>(), rows, cols);
    return y;
}
"""

ext = load_inline(name="transpose_tiles", cpp_sources="torch::Tensor transpose(torch::Tensor x);", cuda_sources=src, functions=["transpose"])


class ModelNew(nn.Module):
    def forward(self, x):
        return ext.transpose(x)
