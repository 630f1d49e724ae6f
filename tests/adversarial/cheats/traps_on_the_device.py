"""failed/device D16 (gpu): a kernel that executes a trap."""

import torch
from torch.utils.cpp_extension import load_inline

SOURCE = """
#include <torch/extension.h>

__global__ void trap_kernel(float* y) { __trap(); }

torch::Tensor relu(torch::Tensor x) {
    auto y = torch::empty_like(x);
    trap_kernel<<<1, 1>>>(y.data_ptr<float>());
    return y;
}
"""

extension = load_inline(
    name="relu_trap", cpp_sources="torch::Tensor relu(torch::Tensor x);", cuda_sources=SOURCE, functions=["relu"]
)


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return extension.relu(x)
