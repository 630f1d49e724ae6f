"""correct: the library multiplies, a kernel of its own adds the bias in place."""

import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

src = """
#include <torch/extension.h>
#include <ATen/cuda/CUDAContext.h>

template <typename scalar_t>
__global__ void bias_relu_(scalar_t* __restrict__ y, const scalar_t* __restrict__ b, int64_t n, int64_t cols) {
    const int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
    if (i < n) {
        const scalar_t v = y[i] + b[i % cols];
        y[i] = v > scalar_t(0) ? v : scalar_t(0);
    }
}

torch::Tensor forward(torch::Tensor x, torch::Tensor weight, torch::Tensor bias) {
    auto y = torch::mm(x, weight.t());
    const int64_t n = y.numel();
    AT_DISPATCH_FLOATING_TYPES_AND_HALF(y.scalar_type(), "bias_relu_", [&] {
        bias_relu_<scalar_t><<<(n + 255) / 256, 256, 0, at::cuda::getCurrentCUDAStream()>>>(
            y.data_ptr<scalar_t>(), bias.data_ptr<scalar_t>(), n, y.size(1));
    });
    return y;
}
"""

ext = load_inline(
    name="mm_bias_relu",
    cpp_sources="torch::Tensor forward(torch::Tensor x, torch::Tensor weight, torch::Tensor bias);",
    cuda_sources=src,
    functions=["forward"],
)


class ModelNew(nn.Module):
    def __init__(self, in_features, out_features):
        super().__init__()
        self.linear = nn.Linear(in_features, out_features)

    def forward(self, x):
        return ext.forward(x, self.linear.weight, self.linear.bias)
