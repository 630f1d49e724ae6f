"""failed: a semicolon is missing, which no compiler takes."""

import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

leaky_relu_source = """
#include <torch/extension.h>
#include <cuda_runtime.h>

__global__ void leaky_relu_kernel(const float* x, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        float v = x[i]
        y[i] = v > 0.0f ? v : 0.1f * v;
    }
}

torch::Tensor leaky_relu_cuda(torch::Tensor x) {
    auto y = torch::empty_like(x);
    int n = x.numel();
    leaky_relu_kernel<<<(n + 255) / 256, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), n);
    return y;
}
"""

leaky_relu_cpp = "torch::Tensor leaky_relu_cuda(torch::Tensor x);"

leaky = load_inline(
    name="leaky_relu_semicolon",
    cpp_sources=leaky_relu_cpp,
    cuda_sources=leaky_relu_source,
    functions=["leaky_relu_cuda"],
    verbose=True,
)


class ModelNew(nn.Module):
    def __init__(self):
        super(ModelNew, self).__init__()

    def forward(self, x):
        return leaky.leaky_relu_cuda(x)
