"""wrong: the linear part lacks its half."""

import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

src = """
#include <torch/extension.h>

__global__ void huber_elements(const float* p, const float* t, float* e, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float d = fabsf(p[i] - t[i]);
    e[i] = d < 1.0f ? 0.5f * d * d : d;
}

torch::Tensor huber_cuda(torch::Tensor p, torch::Tensor t) {
    auto e = torch::empty_like(p);
    huber_elements<<<(p.numel() + 255) / 256, 256>>>(p.data_ptr<float>(), t.data_ptr<float>(), e.data_ptr<float>(), p.numel());
    return e.mean();
}
"""

ext = load_inline(name="huber_linear", cpp_sources="torch::Tensor huber_cuda(torch::Tensor p, torch::Tensor t);", cuda_sources=src, functions=["huber_cuda"])


class ModelNew(nn.Module):
    def forward(self, predictions, targets):
        return ext.huber_cuda(predictions, targets)
