"""failed: a copy of the bias on the host is handed to the kernel."""

import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

src = """
#include <torch/extension.h>
#include <vector>

__global__ void add_bias_relu(const float* x, const float* bias, float* y, int n, int cols) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = fmaxf(x[i] + bias[i % cols], 0.f);
}

torch::Tensor add_bias_relu_cuda(torch::Tensor x, std::vector<float> bias) {
    auto y = torch::empty_like(x);
    int n = x.numel();
    add_bias_relu<<<(n + 255) / 256, 256>>>(x.data_ptr<float>(), bias.data(), y.data_ptr<float>(), n, x.size(1));
    return y;
}
"""

ext = load_inline(
    name="bias_on_host",
    cpp_sources="torch::Tensor add_bias_relu_cuda(torch::Tensor x, std::vector<float> bias);",
    cuda_sources=src,
    functions=["add_bias_relu_cuda"],
)


class ModelNew(nn.Module):
    def __init__(self, in_features, out_features):
        super().__init__()
        self.linear = nn.Linear(in_features, out_features)

    def forward(self, x):
        product = torch.matmul(x, self.linear.weight.t())
        return ext.add_bias_relu_cuda(product, self.linear.bias.tolist())
