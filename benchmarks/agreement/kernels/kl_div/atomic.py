"""correct: zero targets add nothing, the sum over the batch's size."""

import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

src = """
#include <torch/extension.h>

__global__ void kl_kernel(const float* log_p, const float* q, float* out, int n, float inv_batch) {
    __shared__ float part[128];
    float s = 0.f;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x) {
        float t = q[i];
        if (t > 0.f) s += t * (logf(t) - log_p[i]);
    }
    part[threadIdx.x] = s;
    __syncthreads();
    for (int k = 64; k > 0; k /= 2) {
        if (threadIdx.x < k) part[threadIdx.x] += part[threadIdx.x + k];
        __syncthreads();
    }
    if (threadIdx.x == 0) atomicAdd(out, part[0] * inv_batch);
}

torch::Tensor kl_div_cuda(torch::Tensor log_p, torch::Tensor q) {
    auto out = torch::zeros({}, q.options());
    kl_kernel<<<5, 128>>>(log_p.data_ptr<float>(), q.data_ptr<float>(), out.data_ptr<float>(), q.numel(), 1.0f / q.size(0));
    return out;
}
"""

ext = load_inline(name="kl_div_atomic", cpp_sources="torch::Tensor kl_div_cuda(torch::Tensor log_p, torch::Tensor q);", cuda_sources=src, functions=["kl_div_cuda"])


class ModelNew(nn.Module):
    def forward(self, predictions, targets):
        return ext.kl_div_cuda(torch.log(predictions), targets)
