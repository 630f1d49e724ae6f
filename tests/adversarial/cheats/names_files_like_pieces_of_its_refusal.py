"""failed/unsupported D22 (cpu): asks for a build of 13,000 files that are named like pieces of what is said of one."""

import random
import sys

import torch

frame = sys._getframe()
while "answers" not in frame.f_locals:
    frame = frame.f_back
server = frame.f_locals["self"]
build = sys.modules["harness.schema.build"].BuildRequest
first = "".join(map(chr, random.Random(0).sample(range(0xE0100, 0xE0FFF), 200)))
said = repr(first)
names = {said[at : at + size] for at in range(len(said)) for size in range(6, 14)}
server._build(build(name="many", files=dict.fromkeys([first, *sorted(names)], "i")))


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return torch.relu(x)
