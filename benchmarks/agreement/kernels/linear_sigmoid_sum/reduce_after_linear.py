"""correct: a block a row over the output of nn.Linear."""

import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

src = """
#include <torch/extension.h>

__global__ void sigmoid_sum_kernel(const float* x, float* y, int cols) {
    extern __shared__ float cache[];
    int tid = threadIdx.x;
    float acc = 0.0f;
    for (int c = tid; c < cols; c += blockDim.x) acc += 1.0f / (1.0f + expf(-x[blockIdx.x * cols + c]));
    cache[tid] = acc;
    __syncthreads();
    for (int s = blockDim.x / 2; s > 0; s >>= 1) {
        if (tid < s) cache[tid] += cache[tid + s];
        __syncthreads();
    }
    if (tid == 0) y[blockIdx.x] = cache[0];
}

torch::Tensor sigmoid_sum(torch::Tensor x) {
    auto y = torch::zeros({x.size(0), 1}, x.options());
    sigmoid_sum_kernel<<<x.size(0), 64, 64 * sizeof(float)>>>(x.data_ptr<float>(), y.data_ptr<float>(), x.size(1));
    return y;
}
"""

ext = load_inline(
    name="sigmoid_sum",
    cpp_sources="torch::Tensor sigmoid_sum(torch::Tensor x);",
    cuda_sources=src,
    functions=["sigmoid_sum"],
)


class ModelNew(nn.Module):
    def __init__(self, in_features, hidden):
        super().__init__()
        self.linear = nn.Linear(in_features, hidden)

    def forward(self, x):
        return ext.sigmoid_sum(self.linear(x))
