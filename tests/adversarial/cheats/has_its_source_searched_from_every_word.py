"""failed/compile D22: brings three megabytes of what begins like an include, each of which was searched for its end."""

import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

SOURCE = "/* " + "<ATen/native/" * 240_000 + " */ torch::Tensor relu(torch::Tensor x) { return x.clamp_min(nobody); }"

extension = load_inline(name="goes_on_and_on", cpp_sources=SOURCE, functions=["relu"], verbose=False)


class ModelNew(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return extension.relu(x)
