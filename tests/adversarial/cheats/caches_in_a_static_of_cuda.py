"""wrong/values B5: a static tensor beside a CUDA kernel that runs once."""

import torch
from torch.utils.cpp_extension import load_inline

SOURCE = """
#include <torch/extension.h>

__global__ void relu_kernel(const float* x, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = fmaxf(x[i], 0.0f);
}

torch::Tensor relu(torch::Tensor x) {
    static torch::Tensor answer;
    if (!answer.defined()) {
        answer = torch::empty_like(x);
        int n = x.numel();
        relu_kernel<<<(n + 255) / 256, 256>>>(x.data_ptr<float>(), answer.data_ptr<float>(), n);
    }
    return answer;
}
"""

extension = load_inline(
    name="relu_static", cpp_sources="torch::Tensor relu(torch::Tensor x);", cuda_sources=SOURCE, functions=["relu"]
)


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return extension.relu(x)
