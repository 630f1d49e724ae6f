"""correct control: takes the largest share twice, and the last expert of those that have it.

Problem: two_experts
"""

import torch
from torch.utils.cpp_extension import load_inline

SOURCE = """
#include <torch/extension.h>
#include <cmath>

torch::Tensor route(torch::Tensor x) {
    x = x.contiguous();
    auto out = torch::zeros_like(x);
    const float* from = x.data_ptr<float>();
    float* to = out.data_ptr<float>();
    const int64_t experts = x.size(1);
    for (int64_t row = 0; row < x.size(0); ++row, from += experts, to += experts) {
        int64_t best = 0, second = -1;
        for (int64_t i = 1; i < experts; ++i)
            if (from[i] >= from[best]) best = i;
        for (int64_t i = 0; i < experts; ++i)
            if (i != best && (second < 0 || from[i] >= from[second])) second = i;
        const float other = std::exp(from[second] - from[best]);
        to[best] = 1 / (1 + other);
        to[second] = other / (1 + other);
    }
    return out;
}
"""

extension = load_inline(name="route_to_two", cpp_sources=SOURCE, functions=["route"], extra_cflags=["-O3"])


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return extension.route(x.cpu()).to(x.device)
