"""correct: packed accessors, a block for each position."""

import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

cuda_code = """
#include <torch/extension.h>

template <typename scalar_t>
__global__ void log_softmax_acc(
    const torch::PackedTensorAccessor32<scalar_t, 3, torch::RestrictPtrTraits> x,
    torch::PackedTensorAccessor32<scalar_t, 3, torch::RestrictPtrTraits> y) {
    const int b = blockIdx.y;
    const int l = blockIdx.x;
    const int classes = x.size(1);
    __shared__ scalar_t stats[2];
    if (threadIdx.x == 0) {
        scalar_t m = x[b][0][l];
        for (int c = 1; c < classes; c++) {
            if (x[b][c][l] > m) m = x[b][c][l];
        }
        scalar_t s = 0;
        for (int c = 0; c < classes; c++) s += exp(x[b][c][l] - m);
        stats[0] = m;
        stats[1] = log(s);
    }
    __syncthreads();
    for (int c = threadIdx.x; c < classes; c += blockDim.x) y[b][c][l] = x[b][c][l] - stats[0] - stats[1];
}

torch::Tensor log_softmax_forward(torch::Tensor x) {
    auto y = torch::empty_like(x);
    dim3 grid(x.size(2), x.size(0));
    AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), "log_softmax_forward", ([&] {
        log_softmax_acc<scalar_t><<<grid, 32>>>(
            x.packed_accessor32<scalar_t, 3, torch::RestrictPtrTraits>(),
            y.packed_accessor32<scalar_t, 3, torch::RestrictPtrTraits>());
    }));
    return y;
}
"""

mod = load_inline(
    name="log_softmax_accessor",
    cpp_sources="torch::Tensor log_softmax_forward(torch::Tensor x);",
    cuda_sources=cuda_code,
    functions=["log_softmax_forward"],
)


class ModelNew(nn.Module):
    def forward(self, x):
        return mod.log_softmax_forward(x)
