"""correct control: C++ with at::parallel_for."""

import torch
from torch.utils.cpp_extension import load_inline

SOURCE = """
#include <torch/extension.h>
#include <ATen/Parallel.h>

torch::Tensor relu(torch::Tensor x) {
    x = x.contiguous();
    auto out = torch::empty_like(x);
    const float* from = x.data_ptr<float>();
    float* to = out.data_ptr<float>();
    at::parallel_for(0, x.numel(), 16384, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) to[i] = from[i] > 0 ? from[i] : 0;
    });
    return out;
}
"""

extension = load_inline(name="cpp_relu", cpp_sources=SOURCE, functions=["relu"], extra_cflags=["-O3"])


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return extension.relu(x.cpu()).to(x.device)
