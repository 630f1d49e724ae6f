"""wrong: divided by the number of elements and not by the batch."""

import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

src = """
#include <torch/extension.h>

__global__ void kl(const float* p, const float* q, float* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = q[i] * (logf(q[i]) - logf(p[i]));
}

torch::Tensor kl_cuda(torch::Tensor p, torch::Tensor q) {
    auto out = torch::empty_like(p);
    kl<<<(p.numel() + 255) / 256, 256>>>(p.data_ptr<float>(), q.data_ptr<float>(), out.data_ptr<float>(), p.numel());
    return out.mean();
}
"""

ext = load_inline(name="kl_mean", cpp_sources="torch::Tensor kl_cuda(torch::Tensor p, torch::Tensor q);", cuda_sources=src, functions=["kl_cuda"])


class ModelNew(nn.Module):
    def forward(self, predictions, targets):
        return ext.kl_cuda(predictions, targets)
