"""wrong: only one of the two lengths is divided by."""

import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

src = """
#include <torch/extension.h>

__global__ void cosine(const float* a, const float* b, float* out, int rows, int cols) {
    int r = blockIdx.x * blockDim.x + threadIdx.x;
    if (r >= rows) return;
    float dot = 0.f, na = 0.f;
    for (int c = 0; c < cols; ++c) {
        dot += a[r * cols + c] * b[r * cols + c];
        na += a[r * cols + c] * a[r * cols + c];
    }
    out[r] = 1.0f - dot / fmaxf(na, 1e-8f);
}

torch::Tensor cosine_cuda(torch::Tensor a, torch::Tensor b) {
    auto out = torch::empty({a.size(0)}, a.options());
    cosine<<<2, 32>>>(a.data_ptr<float>(), b.data_ptr<float>(), out.data_ptr<float>(), a.size(0), a.size(1));
    return out.mean();
}
"""

ext = load_inline(name="cosine_one", cpp_sources="torch::Tensor cosine_cuda(torch::Tensor a, torch::Tensor b);", cuda_sources=src, functions=["cosine_cuda"])


class ModelNew(nn.Module):
    def forward(self, predictions, targets):
        return ext.cosine_cuda(predictions, targets)
