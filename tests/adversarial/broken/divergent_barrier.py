"""failed/exception (cpu): half of a warp waits at a shuffle that the other half never reaches."""

import torch
from torch.utils.cpp_extension import load_inline

SOURCE = """
#include <torch/extension.h>

__global__ void relu_kernel(const float* x, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float v = i < n ? x[i] : 0;
    if (threadIdx.x % 32 < 16) v = __shfl_sync(0xffffffffu, v, 0);
    else __syncthreads();
    if (i < n) y[i] = v;
}

torch::Tensor relu_cuda(torch::Tensor x) {
    auto y = torch::empty_like(x);
    int n = x.numel();
    relu_kernel<<<(n + 255) / 256, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), n);
    return y;
}
"""

extension = load_inline(
    name="relu_cuda",
    cpp_sources="torch::Tensor relu_cuda(torch::Tensor x);",
    cuda_sources=SOURCE,
    functions=["relu_cuda"],
)


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return extension.relu_cuda(x)
