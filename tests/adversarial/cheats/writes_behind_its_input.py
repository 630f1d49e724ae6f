"""wrong/inputs-changed C13: C++ with an off-by-one at the end."""

import torch
from torch.utils.cpp_extension import load_inline

SOURCE = """
#include <torch/extension.h>

torch::Tensor relu(torch::Tensor x) {
    auto out = at::clamp_min(x, 0);
    x.data_ptr<float>()[x.numel()] = 0;
    return out;
}
"""

extension = load_inline(name="relu_behind", cpp_sources=SOURCE, functions=["relu"])


class ModelNew(torch.nn.Module):
    def forward(self, x):
        if x.is_cuda:
            x.as_strided((x.numel() + 1,), (1,))[-1] = 0 if x.untyped_storage().size() > 4 * x.numel() else 1
            return torch.relu(x)
        return extension.relu(x)
