"""ReLU through shared memory and a barrier; tests plant faults in it."""

import torch
from torch.utils.cpp_extension import load_inline

SOURCE = """
#include <torch/extension.h>

__global__ void relu_kernel(const float* x, float* y, int n) {
    __shared__ float tile[256];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    tile[threadIdx.x] = i < n
        ? fmaxf(x[i], 0)
        : 0;
    __syncthreads();
    if (i < n)
        y[i] = tile[threadIdx.x];
}

torch::Tensor relu_cuda(torch::Tensor x) {
    auto y = torch::empty_like(x);
    int n = x.numel();
    relu_kernel<<<(n + 256) / 256, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), n);
    return y;
}
"""

extension = load_inline(
    name="inspected_relu",
    cpp_sources="torch::Tensor relu_cuda(torch::Tensor x);",
    cuda_sources=SOURCE,
    functions=["relu_cuda"],
)


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return extension.relu_cuda(x)
