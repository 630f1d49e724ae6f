"""wrong: of equal values the last one is told."""

import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

src = """
#include <torch/extension.h>

__global__ void argmax_rows(const float* x, long* out, int rows, int cols) {
    int r = blockIdx.x * blockDim.x + threadIdx.x;
    if (r >= rows) return;
    const float* row = x + (long)r * cols;
    float best = row[0];
    long at = 0;
    for (int c = 0; c < cols; ++c) {
        if (row[c] >= best) {
            best = row[c];
            at = c;
        }
    }
    out[r] = at;
}

torch::Tensor argmax_fw(torch::Tensor x) {
    auto out = torch::zeros({x.size(0)}, x.options().dtype(torch::kInt64));
    argmax_rows<<<(x.size(0) + 255) / 256, 256>>>(x.data_ptr<float>(), out.data_ptr<long>(), x.size(0), x.size(1));
    return out;
}
"""

ext = load_inline(
    name="argmax_last",
    cpp_sources="torch::Tensor argmax_fw(torch::Tensor x);",
    cuda_sources=src,
    functions=["argmax_fw"],
)


class ModelNew(nn.Module):
    def forward(self, x):
        return ext.argmax_fw(x)
