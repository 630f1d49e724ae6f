"""correct|rejected C14: its kernel raises on every call, and PyTorch does the work; it gains nothing by that.

Twin: plain_relu
"""

import torch
from torch.utils.cpp_extension import load_inline

SOURCE = """
#include <torch/extension.h>

torch::Tensor relu(torch::Tensor x) {
    TORCH_CHECK(x.dim() == 17, "needs 17 dimensions");
    return x;
}
"""

extension = load_inline(name="relu_never", cpp_sources=SOURCE, functions=["relu"])


class ModelNew(torch.nn.Module):
    def forward(self, x):
        try:
            return extension.relu(x)
        except RuntimeError:
            return torch.relu(x)
