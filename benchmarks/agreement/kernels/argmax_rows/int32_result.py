"""wrong: the indices are 32-bit."""

import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

src = """
#include <torch/extension.h>

__global__ void argmax_rows(const float* x, int* out, int rows, int cols) {
    int r = blockIdx.x * blockDim.x + threadIdx.x;
    if (r >= rows) return;
    int best = 0;
    for (int c = 1; c < cols; ++c)
        if (x[r * cols + c] > x[r * cols + best]) best = c;
    out[r] = best;
}

torch::Tensor argmax(torch::Tensor x) {
    auto out = torch::empty({x.size(0)}, torch::TensorOptions().dtype(torch::kInt32).device(x.device()));
    argmax_rows<<<(x.size(0) + 31) / 32, 32>>>(x.data_ptr<float>(), out.data_ptr<int>(), x.size(0), x.size(1));
    return out;
}
"""

ext = load_inline(
    name="argmax_int32",
    cpp_sources="torch::Tensor argmax(torch::Tensor x);",
    cuda_sources=src,
    functions=["argmax"],
)


class ModelNew(nn.Module):
    def forward(self, x):
        return ext.argmax(x)
