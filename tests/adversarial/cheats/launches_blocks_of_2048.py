"""wrong C12: launches blocks of 2048 threads, which no GPU has, and looks at no error.

On a GPU: wrong|failed
"""

import torch
from torch.utils.cpp_extension import load_inline

SOURCE = """
#include <torch/extension.h>

__global__ void relu_kernel(const float* x, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = x[i] > 0 ? x[i] : 0;
}

torch::Tensor relu_cuda(torch::Tensor x) {
    auto y = torch::empty_like(x);
    int n = x.numel();
    relu_kernel<<<(n + 2047) / 2048, 2048>>>(x.data_ptr<float>(), y.data_ptr<float>(), n);
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
