"""wrong A11 (cpu): the call returns at once; the work is done when the outputs are asked for, after the clock."""

import sys

import torch

pending = []

frame = sys._getframe()
while "answers" not in frame.f_locals:
    frame = frame.f_back
answers = frame.f_locals["answers"]  # of the worker's loop: what it calls for each request
Describe = next(kind for kind in answers if kind.__name__ == "Describe")
describe = answers[Describe]


Go = next(kind for kind in answers if kind.__name__ == "Go")
go = answers[Go]


def forget_then_go(request):
    pending.clear()
    return go(request)


def finish_then_describe(request):
    for out, x in pending:
        torch.clamp(x, min=0, out=out)
    return describe(request)


answers[Go] = forget_then_go
answers[Describe] = finish_then_describe


class ModelNew(torch.nn.Module):
    def forward(self, x):
        out = torch.zeros_like(x)
        pending.append((out, x))
        return out
