"""correct control: builds two different extensions under one name."""

import torch
from torch.utils.cpp_extension import load_inline

SOURCE = """
torch::Tensor apply(torch::Tensor x) {{ return at::clamp_min(x, {floor}); }}
"""

loose = load_inline(name="clamp", cpp_sources=SOURCE.format(floor="-1e30"), functions=["apply"])
tight = load_inline(name="clamp", cpp_sources=SOURCE.format(floor="0.0"), functions=["apply"])


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return tight.apply(loose.apply(x))
