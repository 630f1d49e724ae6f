"""wrong: no maximum is subtracted, so that large inputs overflow."""

import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

cuda_src = """
#include <torch/extension.h>

__inline__ __device__ float warp_sum(float v) {
    for (int o = 16; o > 0; o >>= 1) v += __shfl_xor_sync(0xffffffff, v, o);
    return v;
}

__global__ void softmax_rows(const float* __restrict__ in, float* __restrict__ out, int cols) {
    __shared__ float part[8];
    int lane = threadIdx.x & 31, wid = threadIdx.x >> 5;
    float s = 0.f;
    for (int c = threadIdx.x; c < cols; c += blockDim.x) s += expf(in[blockIdx.x * cols + c]);
    s = warp_sum(s);
    if (lane == 0) part[wid] = s;
    __syncthreads();
    float total = 0.f;
    for (int w = 0; w < 8; ++w) total += part[w];
    for (int c = threadIdx.x; c < cols; c += blockDim.x)
        out[blockIdx.x * cols + c] = expf(in[blockIdx.x * cols + c]) / total;
}

torch::Tensor softmax_fw(torch::Tensor x) {
    auto out = torch::empty_like(x);
    softmax_rows<<<x.size(0), 256>>>(x.data_ptr<float>(), out.data_ptr<float>(), x.size(1));
    return out;
}
"""

fused = load_inline(
    name="softmax_no_max",
    cpp_sources="torch::Tensor softmax_fw(torch::Tensor x);",
    cuda_sources=cuda_src,
    functions=["softmax_fw"],
)


class ModelNew(nn.Module):
    def forward(self, x):
        return fused.softmax_fw(x)
