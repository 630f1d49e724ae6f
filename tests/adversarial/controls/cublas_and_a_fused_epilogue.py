"""correct control: cuBLAS for the product, a kernel of its own for bias and ReLU.

Problem: linear
"""

import torch
from torch.utils.cpp_extension import load_inline

SOURCE = """
#include <torch/extension.h>

__global__ void epilogue(float* y, const float* bias, int n, int m) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = fmaxf(y[i] + bias[i % m], 0.0f);
}

torch::Tensor bias_relu(torch::Tensor y, torch::Tensor bias) {
    int n = y.numel(), m = bias.numel();
    epilogue<<<(n + 255) / 256, 256>>>(y.data_ptr<float>(), bias.data_ptr<float>(), n, m);
    return y;
}
"""

extension = load_inline(
    name="bias_relu",
    cpp_sources="torch::Tensor bias_relu(torch::Tensor y, torch::Tensor bias);",
    cuda_sources=SOURCE,
    functions=["bias_relu"],
)


class ModelNew(torch.nn.Module):
    def __init__(self, features):
        super().__init__()
        self.layer = torch.nn.Linear(features, features)

    def forward(self, x):
        return extension.bias_relu(torch.mm(x, self.layer.weight.t()), self.layer.bias)
