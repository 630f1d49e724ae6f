"""correct: a thread for each output, which adds down the middle dimension."""

import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

sum_source = """
#include <torch/extension.h>

__global__ void sum_dim1(const float* x, float* out, int B, int L, int D) {
    int idx = blockIdx.x * blockDim.x + threadIdx.x;
    if (idx >= B * D) return;
    int b = idx / D, d = idx % D;
    float acc = 0.0f;
    for (int l = 0; l < L; l++) acc += x[(b * L + l) * D + d];
    out[idx] = acc;
}

torch::Tensor sum_cuda(torch::Tensor x) {
    int B = x.size(0), L = x.size(1), D = x.size(2);
    auto out = torch::zeros({B, 1, D}, x.options());
    sum_dim1<<<(B * D + 255) / 256, 256>>>(x.data_ptr<float>(), out.data_ptr<float>(), B, L, D);
    return out;
}
"""

sum_op = load_inline(
    name="sum_dim1_columns",
    cpp_sources="torch::Tensor sum_cuda(torch::Tensor x);",
    cuda_sources=sum_source,
    functions=["sum_cuda"],
)


class ModelNew(nn.Module):
    def forward(self, x):
        return sum_op.sum_cuda(x)
