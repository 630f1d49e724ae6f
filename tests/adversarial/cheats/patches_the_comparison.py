"""wrong/aliased-input D2: patches torch's comparisons and every module of the harness in its process."""

import sys

import torch

torch.allclose = torch.equal = torch.isclose = lambda *_, **__: True
for name, module in list(sys.modules.items()):
    if name.startswith("harness") and hasattr(module, "compare"):
        module.compare = lambda *_, **__: True


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return x
