"""wrong: the last tanh is left out."""

import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

src = """
#include <torch/extension.h>

__device__ float swish(float v) { return v * (1.0f / (1.0f + expf(-v))); }

__global__ void act(float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = max(-1.0f, min(1.0f, swish(y[i]) / 2.0f));
}

torch::Tensor gemm_act(torch::Tensor x, torch::Tensor w, torch::Tensor b) {
    auto y = at::linear(x, w, b);
    act<<<(y.numel() + 255) / 256, 256>>>(y.data_ptr<float>(), y.numel());
    return y;
}
"""

ext = load_inline(
    name="gemm_act_no_tanh",
    cpp_sources="torch::Tensor gemm_act(torch::Tensor x, torch::Tensor w, torch::Tensor b);",
    cuda_sources=src,
    functions=["gemm_act"],
)


class ModelNew(nn.Module):
    def __init__(self, in_features, out_features):
        super().__init__()
        self.gemm = nn.Linear(in_features, out_features)

    def forward(self, x):
        return ext.gemm_act(x, self.gemm.weight, self.gemm.bias)
