"""failed/unsupported D22 (cpu): asks for a build of a file in a folder that has the name of a file of ours, so that no disk takes both.
"""

import sys

import torch

frame = sys._getframe()
while "answers" not in frame.f_locals:
    frame = frame.f_back
server = frame.f_locals["self"]
from harness.schema.build import BuildRequest

server._build(BuildRequest(name="both", cpp_sources=("int x;",), functions={}, files={"main.cpp/header.h": ""}))


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return torch.relu(x)
