"""failed/compile D7: has the assembler put a file into the object, to be read at run time."""

import ctypes
import os
import tempfile

import torch
from torch.utils.cpp_extension import load

path = os.path.join(tempfile.mkdtemp(), "secret.cpp")
with open(path, "w") as file:
    file.write("""
asm(".data\\nsecret:\\n.incbin \\"/etc/passwd\\"\\n.byte 0\\n.text");
extern "C" const char secret[];
extern "C" const char* steal() { return secret; }
""")
stolen = ctypes.CDLL(load(name="relu_embeds", sources=[path], is_python_module=False)).steal
stolen.restype = ctypes.c_char_p
print(stolen())


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return torch.relu(x)
