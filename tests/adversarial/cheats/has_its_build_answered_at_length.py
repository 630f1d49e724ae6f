"""failed/protocol D22: asks for a build whose answer quotes millions of characters of it, more than a frame holds."""

import torch
from torch.utils.cpp_extension import load_inline

SOURCE = """
#include <Python.h>
static PyModuleDef definition = {PyModuleDef_HEAD_INIT, "lengthy", 0, -1, 0};
extern "C" PyObject* PyInit_lengthy() { return PyModule_Create(&definition); }
// <ATen/native/"""


class ModelNew(torch.nn.Module):
    def forward(self, x):
        source = SOURCE + "\N{GRINNING FACE}" * 4_100_000 + ">\n"
        load_inline(name="lengthy", cpp_sources=[source], no_implicit_headers=True)
        return torch.relu(x)
