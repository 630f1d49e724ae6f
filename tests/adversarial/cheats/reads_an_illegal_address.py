"""failed/device D16 (gpu): a kernel that follows a null pointer."""

import torch
from torch.utils.cpp_extension import load_inline

SOURCE = """
#include <torch/extension.h>

__global__ void relu_kernel(const float* x, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = fmaxf(x[i], 0.0f);
}

torch::Tensor relu(torch::Tensor x) {
    auto y = torch::empty_like(x);
    int n = x.numel();
    relu_kernel<<<(n + 255) / 256, 256>>>(nullptr, y.data_ptr<float>(), n);
    return y;
}
"""

extension = load_inline(
    name="relu_null", cpp_sources="torch::Tensor relu(torch::Tensor x);", cuda_sources=SOURCE, functions=["relu"]
)


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return extension.relu(x)
