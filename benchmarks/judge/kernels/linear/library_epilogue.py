"""The product by the library, bias and leaky ReLU in one kernel behind it, in place."""

import torch
from torch.utils.cpp_extension import load_inline

SOURCE = """
#include <torch/extension.h>

__global__ void epilogue(float* y, const float* bias, long total, int n) {
    long i = (long)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= total) return;
    float v = y[i] + bias[i % n];
    y[i] = fmaxf(v, 0.01f * v);
}

torch::Tensor linear(torch::Tensor x, torch::Tensor w, torch::Tensor bias) {
    auto y = torch::matmul(x, w.t());
    long total = y.numel();
    epilogue<<<(total + 255) / 256, 256>>>(y.data_ptr<float>(), bias.data_ptr<float>(), total, y.size(1));
    return y;
}
"""

extension = load_inline(
    name="linear_epilogue",
    cpp_sources="torch::Tensor linear(torch::Tensor x, torch::Tensor w, torch::Tensor bias);",
    cuda_sources=SOURCE,
    functions=["linear"],
)


class ModelNew(torch.nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.linear = torch.nn.Linear(dim, dim)

    def forward(self, x):
        return extension.linear(x, self.linear.weight, self.linear.bias)
