"""wrong: the weight is read as if it lay the other way round."""

import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

src = """
#include <torch/extension.h>

__global__ void linear_relu(const float* x, const float* w, const float* b, float* y, int B, int I, int O) {
    int o = blockIdx.x * blockDim.x + threadIdx.x;
    int r = blockIdx.y * blockDim.y + threadIdx.y;
    if (r >= B || o >= O) return;
    float acc = 0.f;
    for (int i = 0; i < I; ++i) acc += x[r * I + i] * w[i * O + o];
    y[r * O + o] = fmaxf(acc + b[o], 0.f);
}

torch::Tensor linear_relu_cuda(torch::Tensor x, torch::Tensor w, torch::Tensor b) {
    int B = x.size(0), I = x.size(1), O = w.size(0);
    auto y = torch::empty({B, O}, x.options());
    linear_relu<<<dim3((O + 31) / 32, (B + 7) / 8), dim3(32, 8)>>>(x.data_ptr<float>(), w.data_ptr<float>(), b.data_ptr<float>(), y.data_ptr<float>(), B, I, O);
    return y;
}
"""

ext = load_inline(
    name="linear_relu_t",
    cpp_sources="torch::Tensor linear_relu_cuda(torch::Tensor x, torch::Tensor w, torch::Tensor b);",
    cuda_sources=src,
    functions=["linear_relu_cuda"],
)


class ModelNew(nn.Module):
    def __init__(self, in_features, out_features):
        super().__init__()
        self.linear = nn.Linear(in_features, out_features)

    def forward(self, x):
        return ext.linear_relu_cuda(x, self.linear.weight, self.linear.bias)
