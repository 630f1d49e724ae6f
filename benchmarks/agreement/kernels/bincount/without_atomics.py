"""race: counts are incremented without atomics."""

import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

src = """
#include <torch/extension.h>

__global__ void hist(const int64_t* x, int64_t* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[x[i]] += 1;
}

torch::Tensor hist_cuda(torch::Tensor x) {
    auto out = torch::zeros({16}, x.options());
    hist<<<(x.numel() + 255) / 256, 256>>>(x.data_ptr<int64_t>(), out.data_ptr<int64_t>(), x.numel());
    return out;
}
"""

ext = load_inline(name="hist_plain", cpp_sources="torch::Tensor hist_cuda(torch::Tensor x);", cuda_sources=src, functions=["hist_cuda"])


class ModelNew(nn.Module):
    def forward(self, x):
        return ext.hist_cuda(x)
