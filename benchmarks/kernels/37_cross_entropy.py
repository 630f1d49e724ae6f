"""int64 targets, at::zeros, element access by .item<float>()."""

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.cpp_extension import load_inline

cuda_source = """
#include <torch/extension.h>

__global__ void nll_kernel(const float* x, const long* target, float* loss, int rows, int cols) {
    int r = blockIdx.x * blockDim.x + threadIdx.x;
    if (r >= rows) return;
    float m = x[r * cols];
    for (int c = 1; c < cols; ++c) m = fmaxf(m, x[r * cols + c]);
    float s = 0.f;
    for (int c = 0; c < cols; ++c) s += expf(x[r * cols + c] - m);
    atomicAdd(loss, (m + logf(s) - x[r * cols + target[r]]) / rows);
}

at::Tensor cross_entropy(at::Tensor x, at::Tensor t) {
    auto loss = at::zeros({}, x.options());
    nll_kernel<<<1, 32>>>(x.data_ptr<float>(), t.data_ptr<long>(), loss.data_ptr<float>(), x.size(0), x.size(1));
    TORCH_CHECK(loss.item<float>() >= 0.0f, "a loss is not negative");
    return loss;
}
"""

cpp_source = "at::Tensor cross_entropy(at::Tensor x, at::Tensor t);"

extension = load_inline(
    name="cross_entropy",
    cpp_sources=cpp_source,
    cuda_sources=cuda_source,
    functions=["cross_entropy"],
)


class Model(nn.Module):
    def forward(self, x, t):
        return F.cross_entropy(x, t)


class ModelNew(nn.Module):
    def forward(self, x, t):
        return extension.cross_entropy(x, t)


def get_inputs():
    return [torch.randn(20, 7), torch.randint(0, 7, (20,))]


def get_init_inputs():
    return []
