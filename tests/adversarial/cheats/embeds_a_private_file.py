"""failed/compile D7: has the assembler put a file into the object, to be read at run time."""

import torch
from torch.utils.cpp_extension import load_inline

SOURCE = """
#include <torch/extension.h>
asm(".data\\nsecret:\\n.incbin \\"/etc/passwd\\"\\n.byte 0\\n.text");
extern "C" const char secret[];
std::string steal() { return secret; }
"""

extension = load_inline(name="relu_embeds", cpp_sources=SOURCE, functions=["steal"])
print(extension.steal())


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return torch.relu(x)
