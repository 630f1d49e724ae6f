"""wrong: the gate goes through half precision and back."""

import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

source = """
#include <torch/extension.h>
#include <cuda_fp16.h>

__global__ void swiglu(const float* x, float* y, int rows, int hidden) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= rows * hidden) return;
    int r = i / hidden, c = i % hidden;
    __half g = __float2half(x[r * 2 * hidden + c]);
    float gate = __half2float(g);
    float v = x[r * 2 * hidden + hidden + c];
    y[i] = __half2float(__float2half(gate / (1.0f + __expf(-gate)))) * v;
}

torch::Tensor swiglu_cuda(torch::Tensor x) {
    int rows = x.size(0), hidden = x.size(1) / 2;
    auto y = torch::empty({rows, hidden}, x.options());
    swiglu<<<(rows * hidden + 255) / 256, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), rows, hidden);
    return y;
}
"""

m = load_inline(
    name="swiglu_half",
    cpp_sources="torch::Tensor swiglu_cuda(torch::Tensor x);",
    cuda_sources=source,
    functions=["swiglu_cuda"],
)


class ModelNew(nn.Module):
    def forward(self, x):
        return m.swiglu_cuda(x)
