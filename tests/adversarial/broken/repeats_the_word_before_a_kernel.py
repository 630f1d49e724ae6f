"""failed/not-emulated (cpu): ninety thousand words that a kernel begins with, and volatile memory of no parameter."""

import torch
from torch.utils.cpp_extension import load_inline

extension = load_inline(
    name="repeats_the_word_before_a_kernel",
    cpp_sources="torch::Tensor relu(torch::Tensor x);",
    cuda_sources="__shared__ int a; volatile int b;\n" + "__global__ " * 90_000,
    functions=["relu"],
)


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return extension.relu(x)
