"""failed/timeout D15 (gpu): a kernel that waits for ever."""

import torch
from torch.utils.cpp_extension import load_inline

SOURCE = """
#include <torch/extension.h>

__global__ void wait_kernel(volatile float* x) {
    while (x[0] < 1e30f) {
    }
}

torch::Tensor relu(torch::Tensor x) {
    wait_kernel<<<1, 1>>>(x.data_ptr<float>());
    return x;
}
"""

extension = load_inline(
    name="relu_endless", cpp_sources="torch::Tensor relu(torch::Tensor x);", cuda_sources=SOURCE, functions=["relu"]
)


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return extension.relu(x)
