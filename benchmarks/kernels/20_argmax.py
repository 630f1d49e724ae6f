"""An int64 result with torch::kLong on the device of the input."""

import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

cuda_source = """
#include <torch/extension.h>

__global__ void argmax_kernel(const float* x, int64_t* out, int rows, int cols) {
    int r = blockIdx.x * blockDim.x + threadIdx.x;
    if (r >= rows) return;
    int64_t best = 0;
    for (int c = 1; c < cols; ++c)
        if (x[r * cols + c] > x[r * cols + best]) best = c;
    out[r] = best;
}

torch::Tensor argmax_cuda(torch::Tensor x) {
    auto options = torch::TensorOptions().dtype(torch::kInt64).device(x.device());
    auto out = torch::empty({x.size(0)}, options);
    argmax_kernel<<<1, 128>>>(x.data_ptr<float>(), out.data_ptr<int64_t>(), x.size(0), x.size(1));
    return out;
}
"""

cpp_source = "torch::Tensor argmax_cuda(torch::Tensor x);"

extension = load_inline(
    name="argmax",
    cpp_sources=cpp_source,
    cuda_sources=cuda_source,
    functions=["argmax_cuda"],
)


class Model(nn.Module):
    def forward(self, x):
        return x.argmax(dim=1)


class ModelNew(nn.Module):
    def forward(self, x):
        return extension.argmax_cuda(x)


def get_inputs():
    return [torch.randn(10, 77)]


def get_init_inputs():
    return []
