"""correct: a warp a row, divided by one less than there are."""

import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

src = """
#include <torch/extension.h>

__device__ inline float all_lanes(float v) {
    v += __shfl_xor_sync(0xffffffff, v, 16);
    v += __shfl_xor_sync(0xffffffff, v, 8);
    v += __shfl_xor_sync(0xffffffff, v, 4);
    v += __shfl_xor_sync(0xffffffff, v, 2);
    v += __shfl_xor_sync(0xffffffff, v, 1);
    return v;
}

__global__ void var_kernel(const float* x, float* y, int cols) {
    const float* row = x + blockIdx.x * cols;
    int lane = threadIdx.x;
    float mean = all_lanes(lane < cols ? row[lane] : 0.f) / cols;
    float d = lane < cols ? row[lane] - mean : 0.f;
    float total = all_lanes(d * d);
    if (lane == 0) y[blockIdx.x] = total / (cols - 1);
}

torch::Tensor variance(torch::Tensor x) {
    TORCH_CHECK(x.size(1) <= 32, "one warp holds a row");
    auto y = torch::empty({x.size(0)}, x.options());
    var_kernel<<<x.size(0), 32>>>(x.data_ptr<float>(), y.data_ptr<float>(), x.size(1));
    return y;
}
"""

ext = load_inline(
    name="variance_warp",
    cpp_sources="torch::Tensor variance(torch::Tensor x);",
    cuda_sources=src,
    functions=["variance"],
)


class ModelNew(nn.Module):
    def forward(self, x):
        return ext.variance(x)
