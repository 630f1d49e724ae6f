"""correct: a warp for each row."""

import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

src = """
#include <torch/extension.h>

__global__ void row_max(const float* x, float* out, int rows, int cols) {
    const unsigned warp = (blockIdx.x * blockDim.x + threadIdx.x) >> 5;
    const unsigned lane = threadIdx.x & 31u;
    if (warp >= rows) return;
    float best = -INFINITY;
    for (unsigned c = lane; c < cols; c += 32u) best = fmaxf(best, x[warp * cols + c]);
    #pragma unroll
    for (int d = 16; d >= 1; d >>= 1) best = fmaxf(best, __shfl_xor_sync(~0u, best, d, 32));
    if (lane == 0u) out[warp] = best;
}

torch::Tensor max_last(torch::Tensor x) {
    auto out = torch::empty({x.size(0), x.size(1)}, x.options());
    int rows = out.numel();
    row_max<<<(rows * 32 + 127) / 128, 128>>>(x.data_ptr<float>(), out.data_ptr<float>(), rows, x.size(2));
    return out;
}
"""

op = load_inline(
    name="max_last_warp",
    cpp_sources="torch::Tensor max_last(torch::Tensor x);",
    cuda_sources=src,
    functions=["max_last"],
)


class ModelNew(nn.Module):
    def forward(self, x):
        return op.max_last(x)
