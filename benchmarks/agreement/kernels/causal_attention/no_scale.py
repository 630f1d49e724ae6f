"""wrong: scores are not divided by the root of the head's size."""

import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

src = """
#include <torch/extension.h>

__global__ void scores_kernel(const float* q, const float* k, float* s, int L, int D) {
    int j = threadIdx.x, i = blockIdx.x, h = blockIdx.y;
    if (j >= L) return;
    float acc = 0.f;
    for (int d = 0; d < D; ++d) acc += q[(h * L + i) * D + d] * k[(h * L + j) * D + d];
    s[(h * L + i) * L + j] = j <= i ? acc : -1e30f;
}

torch::Tensor scores(torch::Tensor q, torch::Tensor k) {
    int L = q.size(2), D = q.size(3), H = q.size(0) * q.size(1);
    auto s = torch::empty({q.size(0), q.size(1), L, L}, q.options());
    scores_kernel<<<dim3(L, H), 32>>>(q.data_ptr<float>(), k.data_ptr<float>(), s.data_ptr<float>(), L, D);
    return s;
}
"""

ext = load_inline(name="attn_scores", cpp_sources="torch::Tensor scores(torch::Tensor q, torch::Tensor k);", cuda_sources=src, functions=["scores"])


class ModelNew(nn.Module):
    def forward(self, q, k, v):
        weights = torch.softmax(ext.scores(q, k), dim=-1)
        return torch.matmul(weights, v)
