"""wrong/values B5: a static map in C++ from addresses to answers."""

import torch
from torch.utils.cpp_extension import load_inline

SOURCE = """
#include <torch/extension.h>
#include <unordered_map>

torch::Tensor relu(torch::Tensor x) {
    static std::unordered_map<void*, torch::Tensor> known;
    auto found = known.find(x.data_ptr());
    if (found == known.end()) found = known.emplace(x.data_ptr(), at::clamp_min(x, 0)).first;
    return found->second;
}
"""

extension = load_inline(name="relu_map", cpp_sources=SOURCE, functions=["relu"])


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return extension.relu(x)
