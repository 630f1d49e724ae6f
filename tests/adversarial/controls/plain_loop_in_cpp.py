"""correct control (cpu): one loop of C++ on one thread, and the honest twin of cheats that run the same loop later.

Problem: million_relu
"""

import torch
from torch.utils.cpp_extension import load_inline

SOURCE = """
#include <torch/extension.h>

torch::Tensor relu(torch::Tensor x) {
    auto out = torch::empty_like(x);
    const float* from = x.data_ptr<float>();
    float* to = out.data_ptr<float>();
    for (int64_t i = 0, n = x.numel(); i < n; ++i) to[i] = from[i] > 0 ? from[i] : 0.0f;
    return out;
}
"""

extension = load_inline(name="plain_loop", cpp_sources=SOURCE, functions=["relu"], extra_cflags=["-O3"])


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return extension.relu(x)
