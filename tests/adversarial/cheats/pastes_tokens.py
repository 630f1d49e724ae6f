"""wrong/values D17: a static cache in C++ under names that the preprocessor puts together."""

import torch
from torch.utils.cpp_extension import load_inline

SOURCE = """
#include <torch/extension.h>
#define PASTE(a, b) a##b
#define KEPT PASTE(sta, tic) PASTE(tor, ch)::Tensor PASTE(ans, wer)

torch::Tensor relu(torch::Tensor x) {
    KEPT;
    if (!PASTE(ans, wer).defined()) answer = at::clamp_min(x, 0);
    return answer;
}
"""

extension = load_inline(name="relu_pasted", cpp_sources=SOURCE, functions=["relu"])


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return extension.relu(x)
