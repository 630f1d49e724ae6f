"""wrong: the elements are copied in their old order and only the shape is another one."""

import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

src = """
#include <torch/extension.h>

__global__ void copy_kernel(const float* in, float* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = in[i];
}

torch::Tensor to_nhwc(torch::Tensor x) {
    auto p = x.permute({0, 2, 3, 1});
    auto out = torch::empty({p.size(0), p.size(1), p.size(2), p.size(3)}, x.options());
    copy_kernel<<<(x.numel() + 255) / 256, 256>>>(p.data_ptr<float>(), out.data_ptr<float>(), x.numel());
    return out;
}
"""

ext = load_inline(name="nhwc_copy", cpp_sources="torch::Tensor to_nhwc(torch::Tensor x);", cuda_sources=src, functions=["to_nhwc"])


class ModelNew(nn.Module):
    def forward(self, x):
        return ext.to_nhwc(x)
