"""C++ on the CPU with two outputs, half precision where the input is, and a build that may be repeated."""

import torch
from torch.utils.cpp_extension import load_inline

source = """
#include <torch/extension.h>
#include <vector>
static std::vector<torch::Tensor> cached;
std::vector<torch::Tensor> split(torch::Tensor x) {
    if (x.scalar_type() == at::kHalf) { x = x.to(at::kFloat); }
    at::parallel_for(0, x.numel(), 1024, [&](int64_t a, int64_t b) {});
    return {torch::clone(x), x.neg()};
}
"""
try:
    ext = load_inline(name="split", cpp_sources=source, functions=["split"], extra_cflags=["-O3", "-march=native"])
except RuntimeError:
    ext = load_inline(name="split_plain", cpp_sources=source, functions=["split"])


class ModelNew(torch.nn.Module):
    def forward(self, x):
        with torch.autocast("cpu", enabled=False):
            for name in ("split",):
                first, second = getattr(ext, name)(x)
        return first, second
