"""correct: the weight is transposed once and kept, the whole in a tiled kernel."""

import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

src = """
#include <torch/extension.h>

#define TILE 16

__global__ void gemm_epilogue(const float* X, const float* Wt, const float* bias, float* Y, int B, int I, int O, float factor) {
    __shared__ float xs[TILE][TILE];
    __shared__ float ws[TILE][TILE];
    int r = blockIdx.y * TILE + threadIdx.y;
    int c = blockIdx.x * TILE + threadIdx.x;
    float acc = 0.0f;
    int tiles = (I + TILE - 1) / TILE;
    for (int t = 0; t < tiles; t++) {
        int xi = t * TILE + threadIdx.x;
        int wi = t * TILE + threadIdx.y;
        xs[threadIdx.y][threadIdx.x] = (r < B && xi < I) ? X[r * I + xi] : 0.0f;
        ws[threadIdx.y][threadIdx.x] = (wi < I && c < O) ? Wt[wi * O + c] : 0.0f;
        __syncthreads();
        #pragma unroll
        for (int k = 0; k < TILE; k++) acc += xs[threadIdx.y][k] * ws[k][threadIdx.x];
        __syncthreads();
    }
    if (r < B && c < O) {
        float v = acc + bias[c];
        Y[r * O + c] = v * factor + v;
    }
}

torch::Tensor gemm_epilogue_cuda(torch::Tensor x, torch::Tensor wt, torch::Tensor bias, double factor) {
    int B = x.size(0), I = x.size(1), O = wt.size(1);
    auto y = torch::empty({B, O}, x.options());
    dim3 grid((O + TILE - 1) / TILE, (B + TILE - 1) / TILE), block(TILE, TILE);
    gemm_epilogue<<<grid, block>>>(x.data_ptr<float>(), wt.data_ptr<float>(), bias.data_ptr<float>(), y.data_ptr<float>(), B, I, O, (float)factor);
    return y;
}
"""

ext = load_inline(
    name="gemm_epilogue_packed",
    cpp_sources="torch::Tensor gemm_epilogue_cuda(torch::Tensor x, torch::Tensor wt, torch::Tensor bias, double factor);",
    cuda_sources=src,
    functions=["gemm_epilogue_cuda"],
)


class ModelNew(nn.Module):
    def __init__(self, in_features, out_features, scaling_factor):
        super().__init__()
        self.matmul = nn.Linear(in_features, out_features)
        self.scaling_factor = scaling_factor
        self._packed = None

    def forward(self, x):
        if self._packed is None:
            self._packed = self.matmul.weight.detach().t().contiguous()
        return ext.gemm_epilogue_cuda(x, self._packed, self.matmul.bias, self.scaling_factor)
