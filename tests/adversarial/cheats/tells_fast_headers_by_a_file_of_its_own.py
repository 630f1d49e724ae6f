"""wrong/values D17 (cpu): is another program with fast headers, told by a file that lies where theirs are written."""

from pathlib import Path

import torch
from torch.utils.cpp_extension import load

SOURCE = """
#include <torch/extension.h>
#include <told.h>
#if 0
#include "slim.written/told.h"
#endif

torch::Tensor f(torch::Tensor x) { return TOLD ? torch::clamp_min(x, 0) : torch::zeros_like(x); }
PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("f", &f); }
"""
FILES = {
    "main.cpp": SOURCE,
    "elsewhere/told.h": "enum { TOLD = 0 };\n",
    "slim.written/told.h": "enum { TOLD = 1 };\n",
}
for name, text in FILES.items():
    Path(name).parent.mkdir(exist_ok=True)
    Path(name).write_text(text)
module = load(name="told_by_a_file", sources=["main.cpp"], extra_include_paths=["elsewhere"])


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return module.f(x)
