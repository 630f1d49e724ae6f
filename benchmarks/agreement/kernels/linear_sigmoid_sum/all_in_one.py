"""correct: product, sigmoid and sum in one kernel, a row in shared memory."""

import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

src = """
#include <torch/extension.h>

__device__ __forceinline__ float sigmoid(float v) { return 1.f / (1.f + __expf(-v)); }

__global__ void fused(const float* __restrict__ x, const float* __restrict__ w, const float* __restrict__ b,
                      float* __restrict__ out, int I, int H) {
    extern __shared__ float row[];
    for (int i = threadIdx.x; i < I; i += blockDim.x) row[i] = x[blockIdx.x * I + i];
    __syncthreads();
    float mine = 0.f;
    for (int h = threadIdx.x; h < H; h += blockDim.x) {
        float acc = b[h];
        for (int i = 0; i < I; ++i) acc = fmaf(row[i], w[h * I + i], acc);
        mine += sigmoid(acc);
    }
    for (int o = 16; o; o >>= 1) mine += __shfl_down_sync(0xffffffff, mine, o);
    __shared__ float warps[4];
    if ((threadIdx.x & 31) == 0) warps[threadIdx.x >> 5] = mine;
    __syncthreads();
    if (threadIdx.x == 0) out[blockIdx.x] = warps[0] + warps[1] + warps[2] + warps[3];
}

torch::Tensor run(torch::Tensor x, torch::Tensor w, torch::Tensor b) {
    const int B = x.size(0), I = x.size(1), H = w.size(0);
    auto out = x.new_empty({B, 1});
    fused<<<B, 128, I * sizeof(float)>>>(x.data_ptr<float>(), w.data_ptr<float>(), b.data_ptr<float>(), out.data_ptr<float>(), I, H);
    return out;
}
"""

ext = load_inline(
    name="linear_sigmoid_sum_one",
    cpp_sources="torch::Tensor run(torch::Tensor x, torch::Tensor w, torch::Tensor b);",
    cuda_sources=src,
    functions=["run"],
)


class ModelNew(nn.Module):
    def __init__(self, in_features, hidden):
        super().__init__()
        self.linear = nn.Linear(in_features, hidden)

    def forward(self, x):
        return ext.run(x, self.linear.weight, self.linear.bias)
