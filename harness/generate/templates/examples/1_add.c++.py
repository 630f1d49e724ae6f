import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

cpp_source = """
#include <torch/extension.h>
#include <ATen/Parallel.h>

torch::Tensor add(torch::Tensor a, torch::Tensor b) {
    a = a.contiguous();
    b = b.contiguous();
    auto out = torch::empty_like(a);
    const float* x = a.data_ptr<float>();
    const float* y = b.data_ptr<float>();
    float* z = out.data_ptr<float>();
    at::parallel_for(0, a.numel(), 1 << 15, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; i++) {
            z[i] = x[i] + y[i];
        }
    });
    return out;
}
"""

extension = load_inline(name="add", cpp_sources=cpp_source, functions=["add"], extra_cflags=["-O3"])


class ModelNew(nn.Module):
    def forward(self, a, b):
        return extension.add(a, b)
