"""wrong/data-race (cpu): reads shared memory that other threads write, without a barrier."""

import torch
from torch.utils.cpp_extension import load_inline

SOURCE = """
#include <torch/extension.h>

__global__ void relu_kernel(const float* x, float* y, int n) {
    __shared__ float tile[256];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    tile[threadIdx.x] = i < n ? x[i] : 0;
    float v = tile[255 - threadIdx.x];
    if (i < n) y[i - threadIdx.x + 255 - threadIdx.x] = v > 0 ? v : 0;
}

torch::Tensor relu_cuda(torch::Tensor x) {
    auto y = torch::empty_like(x);
    int n = x.numel();
    relu_kernel<<<n / 256, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), n);
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
