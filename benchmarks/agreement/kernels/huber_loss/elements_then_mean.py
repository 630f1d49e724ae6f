"""correct: float4 over the elements, torch takes the mean."""

import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

src = """
#include <torch/extension.h>

__device__ float h1(float a, float b) {
    float d = a - b;
    return fabsf(d) < 1.f ? 0.5f * d * d : fabsf(d) - 0.5f;
}

__global__ void huber4(const float* p, const float* t, float* e, int n) {
    int i = 4 * (blockIdx.x * blockDim.x + threadIdx.x);
    if (i + 3 < n) {
        float4 a = *reinterpret_cast<const float4*>(p + i);
        float4 b = *reinterpret_cast<const float4*>(t + i);
        *reinterpret_cast<float4*>(e + i) = make_float4(h1(a.x, b.x), h1(a.y, b.y), h1(a.z, b.z), h1(a.w, b.w));
    } else {
        for (; i < n; ++i) e[i] = h1(p[i], t[i]);
    }
}

torch::Tensor huber_elements(torch::Tensor p, torch::Tensor t) {
    auto e = torch::empty_like(p);
    int n = p.numel();
    int groups = (n + 3) / 4;
    huber4<<<(groups + 63) / 64, 64>>>(p.data_ptr<float>(), t.data_ptr<float>(), e.data_ptr<float>(), n);
    return e;
}
"""

ext = load_inline(name="huber4", cpp_sources="torch::Tensor huber_elements(torch::Tensor p, torch::Tensor t);", cuda_sources=src, functions=["huber_elements"])


class ModelNew(nn.Module):
    def forward(self, predictions, targets):
        return torch.mean(ext.huber_elements(predictions, targets))
