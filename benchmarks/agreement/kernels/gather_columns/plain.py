"""correct: a thread for each index."""

import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

src = """
#include <torch/extension.h>

__global__ void gather_kernel(const float* x, const int64_t* index, float* out, int n, int picked, int dim) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = x[(i / picked) * dim + index[i]];
}

torch::Tensor gather(torch::Tensor x, torch::Tensor index) {
    auto out = torch::empty(index.sizes(), x.options());
    int n = index.numel();
    gather_kernel<<<(n + 255) / 256, 256>>>(x.data_ptr<float>(), index.data_ptr<int64_t>(), out.data_ptr<float>(), n, index.size(1), x.size(1));
    return out;
}
"""

ext = load_inline(name="gather_plain", cpp_sources="torch::Tensor gather(torch::Tensor x, torch::Tensor index);", cuda_sources=src, functions=["gather"])


class ModelNew(nn.Module):
    def forward(self, x, index):
        return ext.gather(x, index)
