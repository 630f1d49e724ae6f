"""torch.empty, torch's own in-place operators, and the last step in place by a kernel."""

import torch
from torch.utils.cpp_extension import load_inline

SOURCE = """
#include <torch/extension.h>

__global__ void finish(const float* x, float* inner, long n) {
    long i = (long)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) inner[i] = 0.5f * x[i] * (1.0f + tanhf(inner[i]));
}

void finish_gelu(torch::Tensor x, torch::Tensor inner) {
    long n = x.numel();
    finish<<<(n + 511) / 512, 512>>>(x.data_ptr<float>(), inner.data_ptr<float>(), n);
}
"""

extension = load_inline(
    name="gelu_in_place",
    cpp_sources="void finish_gelu(torch::Tensor x, torch::Tensor inner);",
    cuda_sources=SOURCE,
    functions=["finish_gelu"],
)


class ModelNew(torch.nn.Module):
    def forward(self, x):
        inner = torch.empty(x.shape, device=x.device, dtype=x.dtype)
        torch.mul(x, x, out=inner)
        inner.mul_(0.044715).add_(1.0).mul_(x).mul_(0.7978845608)
        extension.finish_gelu(x, inner)
        return inner
