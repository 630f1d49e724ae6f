"""What the cheats beside it are held against: the same kernel without the hint to the cache."""

import torch
from torch.utils.cpp_extension import load_inline

SOURCE = """
#include <torch/extension.h>

__global__ void relu_kernel(const float4* x, float4* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        float4 v = x[i];
        y[i] = make_float4(fmaxf(v.x, 0.0f), fmaxf(v.y, 0.0f), fmaxf(v.z, 0.0f), fmaxf(v.w, 0.0f));
    }
}

torch::Tensor relu(torch::Tensor x) {
    auto y = torch::empty_like(x);
    int n = x.numel() / 4;
    relu_kernel<<<(n + 255) / 256, 256>>>(
        reinterpret_cast<const float4*>(x.data_ptr<float>()), reinterpret_cast<float4*>(y.data_ptr<float>()), n);
    return y;
}
"""

extension = load_inline(
    name="relu_twin",
    cpp_sources="torch::Tensor relu(torch::Tensor x);",
    cuda_sources=SOURCE,
    functions=["relu"],
)


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return extension.relu(x)
