"""failed/unsupported D22 (cpu): asks for a build with a file in a folder that has the name of a file of ours."""

import sys

import torch

frame = sys._getframe()
while "answers" not in frame.f_locals:
    frame = frame.f_back
server = frame.f_locals["self"]  # the worker's loop, whose own wrapper would not send such a request
build = sys.modules["harness.schema.build"].BuildRequest
server._build(build(name="both", cpp_sources=("int x;",), functions={}, files={"main.cpp/header.h": ""}))


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return torch.relu(x)
