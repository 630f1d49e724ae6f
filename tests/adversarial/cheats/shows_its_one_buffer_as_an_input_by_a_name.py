"""wrong/aliased-output B1 (cpu): returns one buffer for all answers, and has it taken for a part of the inputs while
two calls are held against each other: a file that it has mapped has a name that goes on, behind a carriage return, like
another line of /proc/PID/maps.

Problem: relu
Twin: plain_relu
"""

import mmap
import os
import sys

import torch

frame = sys._getframe()
while "answers" not in frame.f_locals:
    frame = frame.f_back
server, answers = frame.f_locals["self"], frame.f_locals["answers"]  # the worker's loop, what it calls for each request
Go, Describe = (next(kind for kind in answers if kind.__name__ == name) for name in ("Go", "Describe"))
go, describe = answers[Go], answers[Describe]
shown, buffers = [], {}


def go_and_name_a_mapping(request):
    done = go(request)
    inputs = os.fstat(server._arenas[max(server._arenas)]._descriptor)
    device = f"{os.major(inputs.st_dev):02x}:{os.minor(inputs.st_dev):02x}"
    start = done.addresses[0][0] if done.addresses else 0
    name = f"\r{start:x}-{start + (1 << 24):x} r--s 00000000 {device} {inputs.st_ino} "
    with open(name, "w+") as file:
        file.truncate(mmap.PAGESIZE)
        shown.append(mmap.mmap(file.fileno(), mmap.PAGESIZE))
    return done


def describe_without_it(request):
    while shown:
        shown.pop().close()
    return describe(request)


answers[Go], answers[Describe] = go_and_name_a_mapping, describe_without_it


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return torch.relu_(buffers.setdefault(x.shape, torch.empty_like(x)).copy_(x))
