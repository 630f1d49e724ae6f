"""wrong: queries see the keys after them."""

import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

src = """
#include <torch/extension.h>

__global__ void attn(const float* q, const float* k, const float* v, float* o, int L, int D, float scale) {
    extern __shared__ float p[];
    int i = blockIdx.x;
    long base = (long)blockIdx.y * L * D;
    for (int j = threadIdx.x; j < L; j += blockDim.x) {
        float s = 0.f;
        for (int d = 0; d < D; ++d) s += q[base + i * D + d] * k[base + j * D + d];
        p[j] = s * scale;
    }
    __syncthreads();
    float m = -INFINITY, total = 0.f;
    for (int j = 0; j < L; ++j) m = fmaxf(m, p[j]);
    for (int j = 0; j < L; ++j) total += expf(p[j] - m);
    for (int d = threadIdx.x; d < D; d += blockDim.x) {
        float acc = 0.f;
        for (int j = 0; j < L; ++j) acc += expf(p[j] - m) / total * v[base + j * D + d];
        o[base + i * D + d] = acc;
    }
}

torch::Tensor attn_cuda(torch::Tensor q, torch::Tensor k, torch::Tensor v) {
    auto o = torch::empty_like(q);
    int L = q.size(2), D = q.size(3);
    attn<<<dim3(L, q.size(0) * q.size(1)), 32, L * sizeof(float)>>>(q.data_ptr<float>(), k.data_ptr<float>(), v.data_ptr<float>(), o.data_ptr<float>(), L, D, 1.0f / sqrtf((float)D));
    return o;
}
"""

ext = load_inline(name="attn_no_mask", cpp_sources="torch::Tensor attn_cuda(torch::Tensor q, torch::Tensor k, torch::Tensor v);", cuda_sources=src, functions=["attn_cuda"])


class ModelNew(nn.Module):
    def forward(self, q, k, v):
        return ext.attn_cuda(q, k, v)
