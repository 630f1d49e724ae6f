"""correct: a ballot and a population count a warp."""

import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

src = """
#include <torch/extension.h>

__global__ void count_kernel(const float* x, int64_t* out, int rows, int cols) {
    int row = blockIdx.x * blockDim.y + threadIdx.y;
    if (row >= rows) return;
    int count = 0;
    for (int base = 0; base < cols; base += 32) {
        int c = base + threadIdx.x;
        bool above = c < cols && x[row * cols + c] > 0.5f;
        count += __popc(__ballot_sync(0xffffffffu, above));
    }
    if (threadIdx.x == 0) out[row] = count;
}

torch::Tensor count_above(torch::Tensor x) {
    auto out = torch::empty({x.size(0)}, x.options().dtype(torch::kInt64));
    count_kernel<<<(x.size(0) + 3) / 4, dim3(32, 4)>>>(x.data_ptr<float>(), out.data_ptr<int64_t>(), x.size(0), x.size(1));
    return out;
}
"""

ext = load_inline(name="count_ballot", cpp_sources="torch::Tensor count_above(torch::Tensor x);", cuda_sources=src, functions=["count_above"])


class ModelNew(nn.Module):
    def forward(self, x):
        return ext.count_above(x)
