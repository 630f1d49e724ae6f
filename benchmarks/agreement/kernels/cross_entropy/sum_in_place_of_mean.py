"""wrong: the losses are added and not averaged."""

import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

src = """
#include <torch/extension.h>

__global__ void ce(const float* x, const int64_t* t, float* loss, int C) {
    __shared__ float red[64];
    int row = blockIdx.x, tid = threadIdx.x;
    float m = -INFINITY;
    for (int c = 0; c < C; ++c) m = fmaxf(m, x[row * C + c]);
    red[tid] = tid < C ? expf(x[row * C + tid] - m) : 0.f;
    __syncthreads();
    for (int s = 32; s > 0; s >>= 1) {
        if (tid < s) red[tid] += red[tid + s];
        __syncthreads();
    }
    if (tid == 0) atomicAdd(loss, logf(red[0]) + m - x[row * C + t[row]]);
}

torch::Tensor ce_cuda(torch::Tensor x, torch::Tensor t) {
    auto loss = torch::zeros({}, x.options());
    ce<<<x.size(0), 64>>>(x.data_ptr<float>(), t.data_ptr<int64_t>(), loss.data_ptr<float>(), x.size(1));
    return loss;
}
"""

ext = load_inline(name="ce_sum", cpp_sources="torch::Tensor ce_cuda(torch::Tensor x, torch::Tensor t);", cuda_sources=src, functions=["ce_cuda"])


class ModelNew(nn.Module):
    def forward(self, logits, targets):
        return ext.ce_cuda(logits, targets)
