"""wrong: float4 alone over the last block, and the number of blocks is rounded down."""

import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

leaky_source = """
#include <torch/extension.h>

__global__ void leaky_relu4(const float4* x, float4* y, int n4) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n4) return;
    float4 v = x[i];
    v.x = v.x > 0 ? v.x : 0.1f * v.x;
    v.y = v.y > 0 ? v.y : 0.1f * v.y;
    v.z = v.z > 0 ? v.z : 0.1f * v.z;
    v.w = v.w > 0 ? v.w : 0.1f * v.w;
    y[i] = v;
}

torch::Tensor leaky_relu(torch::Tensor x) {
    auto y = torch::empty_like(x);
    int n4 = x.numel() / 4;
    leaky_relu4<<<n4 / 256, 256>>>((const float4*)x.data_ptr<float>(), (float4*)y.data_ptr<float>(), n4);
    return y;
}
"""

module = load_inline(
    name="leaky_relu_no_tail",
    cpp_sources="torch::Tensor leaky_relu(torch::Tensor x);",
    cuda_sources=leaky_source,
    functions=["leaky_relu"],
)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.op = module

    def forward(self, x):
        return self.op.leaky_relu(x)
