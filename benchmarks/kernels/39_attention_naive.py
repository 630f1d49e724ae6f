"""Attention in three kernels with scratch tensors."""

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.cpp_extension import load_inline

cuda_source = """
#include <torch/extension.h>
#include <cmath>

__global__ void scores_kernel(const float* q, const float* k, float* s, int n, int d, float scale) {
    int b = blockIdx.z, i = blockIdx.y, j = threadIdx.x;
    if (j >= n) return;
    float acc = 0.f;
    for (int e = 0; e < d; ++e) acc += q[(b * n + i) * d + e] * k[(b * n + j) * d + e];
    s[(b * n + i) * n + j] = acc * scale;
}

__global__ void softmax_rows(float* s, int n) {
    float* row = s + blockIdx.x * n;
    if (threadIdx.x != 0) return;
    float m = row[0], t = 0.f;
    for (int j = 1; j < n; ++j) m = fmaxf(m, row[j]);
    for (int j = 0; j < n; ++j) t += (row[j] = expf(row[j] - m));
    for (int j = 0; j < n; ++j) row[j] /= t;
}

__global__ void weighted_sum(const float* s, const float* v, float* o, int n, int d) {
    int b = blockIdx.z, i = blockIdx.y, e = threadIdx.x;
    if (e >= d) return;
    float acc = 0.f;
    for (int j = 0; j < n; ++j) acc += s[(b * n + i) * n + j] * v[(b * n + j) * d + e];
    o[(b * n + i) * d + e] = acc;
}

torch::Tensor attention(torch::Tensor q, torch::Tensor k, torch::Tensor v) {
    const int b = q.size(0), n = q.size(1), d = q.size(2);
    auto s = torch::empty({b, n, n}, q.options());
    auto o = torch::empty_like(q);
    scores_kernel<<<dim3(1, n, b), 32>>>(q.data_ptr<float>(), k.data_ptr<float>(), s.data_ptr<float>(), n, d, 1.0f / std::sqrt((float)d));
    softmax_rows<<<b * n, 32>>>(s.data_ptr<float>(), n);
    weighted_sum<<<dim3(1, n, b), 32>>>(s.data_ptr<float>(), v.data_ptr<float>(), o.data_ptr<float>(), n, d);
    return o;
}
"""

cpp_source = "torch::Tensor attention(torch::Tensor q, torch::Tensor k, torch::Tensor v);"

extension = load_inline(
    name="attention_naive",
    cpp_sources=cpp_source,
    cuda_sources=cuda_source,
    functions=["attention"],
)


class Model(nn.Module):
    def forward(self, q, k, v):
        return F.scaled_dot_product_attention(q, k, v)


class ModelNew(nn.Module):
    def forward(self, q, k, v):
        return extension.attention(q, k, v)


def get_inputs():
    return [torch.randn(2, 10, 16), torch.randn(2, 10, 16), torch.randn(2, 10, 16)]


def get_init_inputs():
    return []
