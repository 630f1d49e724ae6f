"""correct control: a static scratch tensor in C++, and a fresh one for the output."""

import torch
from torch.utils.cpp_extension import load_inline

SOURCE = """
#include <torch/extension.h>

torch::Tensor relu(torch::Tensor x) {
    static torch::Tensor scratch;
    if (!scratch.defined() || scratch.numel() < x.numel()) scratch = torch::empty({x.numel()}, x.options());
    float* through = scratch.data_ptr<float>();
    const float* from = x.data_ptr<float>();
    auto out = torch::empty_like(x);
    float* to = out.data_ptr<float>();
    for (int64_t i = 0; i < x.numel(); ++i) through[i] = from[i] > 0 ? from[i] : 0;
    for (int64_t i = 0; i < x.numel(); ++i) to[i] = through[i];
    return out;
}
"""

extension = load_inline(name="relu_workspace", cpp_sources=SOURCE, functions=["relu"])


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return extension.relu(x.cpu()).to(x.device)
