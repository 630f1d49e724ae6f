"""wrong: the bias is forgotten."""

import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

src = """
#include <torch/extension.h>

__global__ void linear_sigmoid_sum(const float* x, const float* w, float* y, int I, int H) {
    int row = blockIdx.x;
    __shared__ float total;
    if (threadIdx.x == 0) total = 0.f;
    __syncthreads();
    for (int h = threadIdx.x; h < H; h += blockDim.x) {
        float dot = 0.f;
        for (int i = 0; i < I; ++i) dot += x[row * I + i] * w[h * I + i];
        atomicAdd(&total, 1.f / (1.f + expf(-dot)));
    }
    __syncthreads();
    if (threadIdx.x == 0) y[row] = total;
}

torch::Tensor lss(torch::Tensor x, torch::Tensor w) {
    auto y = torch::empty({x.size(0), 1}, x.options());
    linear_sigmoid_sum<<<x.size(0), 96>>>(x.data_ptr<float>(), w.data_ptr<float>(), y.data_ptr<float>(), x.size(1), w.size(0));
    return y;
}
"""

ext = load_inline(
    name="lss_no_bias",
    cpp_sources="torch::Tensor lss(torch::Tensor x, torch::Tensor w);",
    cuda_sources=src,
    functions=["lss"],
)


class ModelNew(nn.Module):
    def __init__(self, in_features, hidden):
        super().__init__()
        self.linear = nn.Linear(in_features, hidden)

    def forward(self, x):
        return ext.lss(x, self.linear.weight)
