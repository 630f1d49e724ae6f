"""correct control: includes headers from folders of its own by <name>, two of them of one name."""

from pathlib import Path

import torch
from torch.utils.cpp_extension import load

ROOT = Path("written")
TEXTS = {
    "first/mine.h": "#pragma once\n#include <torch/extension.h>\n#include <below/least.h>\n",
    "first/below/least.h": "#pragma once\ntemplate <class T> T least(T x) { return x.clamp_min(LEAST); }\n",
    "second/mine.h": "#error another one\n",
    "second/bound.h": "#define LEAST 0\n",
    "src/bind.cpp": "#include <bound.h>\n#include <mine.h>\n"
    'PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("f", &least<torch::Tensor>); }\n',
}
for name, text in TEXTS.items():
    (ROOT / name).parent.mkdir(parents=True, exist_ok=True)
    (ROOT / name).write_text(text)
module = load(
    name="in_folders",
    sources=[str(ROOT / "src/bind.cpp")],
    extra_include_paths=[str(ROOT / "first"), str(ROOT / "second")],
)


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return module.f(x)
