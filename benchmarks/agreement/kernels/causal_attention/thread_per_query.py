"""correct: online softmax, a thread for each query, keys and values in shared memory."""

import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

src = """
#include <torch/extension.h>

template <int D, int BLOCK>
__global__ void flash(const float* __restrict__ Q, const float* __restrict__ K, const float* __restrict__ V, float* __restrict__ O,
                      int L, float scale) {
    __shared__ float ks[BLOCK][D], vs[BLOCK][D];
    const int i = blockIdx.x * BLOCK + threadIdx.x;
    const size_t base = (size_t)blockIdx.y * L * D;
    float q[D], acc[D];
    float m = -INFINITY, l = 0.f;
    #pragma unroll
    for (int d = 0; d < D; ++d) {
        q[d] = i < L ? Q[base + i * D + d] * scale : 0.f;
        acc[d] = 0.f;
    }
    for (int j0 = 0; j0 < L; j0 += BLOCK) {
        __syncthreads();
        for (int t = threadIdx.x; t < BLOCK * D; t += BLOCK) {
            int j = j0 + t / D;
            ks[t / D][t % D] = j < L ? K[base + j * D + t % D] : 0.f;
            vs[t / D][t % D] = j < L ? V[base + j * D + t % D] : 0.f;
        }
        __syncthreads();
        for (int jj = 0; jj < BLOCK && j0 + jj <= i && j0 + jj < L; ++jj) {
            float s = 0.f;
            #pragma unroll
            for (int d = 0; d < D; ++d) s += q[d] * ks[jj][d];
            float m_new = fmaxf(m, s);
            float fix = expf(m - m_new), p = expf(s - m_new);
            l = l * fix + p;
            #pragma unroll
            for (int d = 0; d < D; ++d) acc[d] = acc[d] * fix + p * vs[jj][d];
            m = m_new;
        }
    }
    if (i < L)
        for (int d = 0; d < D; ++d) O[base + i * D + d] = acc[d] / l;
}

torch::Tensor attention(torch::Tensor q, torch::Tensor k, torch::Tensor v) {
    TORCH_CHECK(q.size(3) == 16, "head size is 16");
    auto o = torch::empty_like(q);
    const int L = q.size(2), heads = q.size(0) * q.size(1);
    flash<16, 8><<<dim3((L + 7) / 8, heads), 8>>>(q.data_ptr<float>(), k.data_ptr<float>(), v.data_ptr<float>(), o.data_ptr<float>(), L, 0.25f);
    return o;
}
"""

ext = load_inline(
    name="flash_small",
    cpp_sources="torch::Tensor attention(torch::Tensor q, torch::Tensor k, torch::Tensor v);",
    cuda_sources=src,
    functions=["attention"],
)


class ModelNew(nn.Module):
    def forward(self, q, k, v):
        return ext.attention(q.contiguous(), k.contiguous(), v.contiguous())
