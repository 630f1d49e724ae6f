"""failed/protocol A16 (cpu): in some rounds its outputs lie in memory that nobody can read when the clock stops, and
the work is done when they are asked for.

Problem: matmul
Twin: plain_matmul
"""

import ctypes
import random
import sys

import torch

frame = sys._getframe()
while "answers" not in frame.f_locals:
    frame = frame.f_back
answers = frame.f_locals["answers"]  # of the worker's loop: what it calls for each request
Go, Describe = (next(kind for kind in answers if kind.__name__ == name) for name in ("Go", "Describe"))
go, describe = answers[Go], answers[Describe]
libc = ctypes.CDLL(None)
libc.mmap.restype = ctypes.c_void_p
NOTHING, READ_WRITE = 0, 3
SIZE = 384 * 384 * 4  # of one output: whole pages
MOST = 256
room = libc.mmap(None, ctypes.c_size_t(SIZE * MOST), READ_WRITE, 0x22, -1, ctypes.c_long(0))
memory = (ctypes.c_float * (SIZE // 4 * MOST)).from_address(room)
outputs = torch.frombuffer(memory, dtype=torch.float32).view(MOST, 384, 384)
outputs.zero_()
pending = []
state = {"late": False, "rounds": 0}


def protect(kind):
    libc.mprotect(ctypes.c_void_p(room), ctypes.c_size_t(SIZE * MOST), kind)


def go_and_hide(request):
    pending.clear()
    state["rounds"] += 1
    state["late"] = len(request.slots) > 1 and state["rounds"] > 12 and random.random() < 0.5
    answer = go(request)
    if state["late"]:
        protect(NOTHING)
    return answer


def finish_then_describe(request):
    if state["late"]:
        protect(READ_WRITE)
        for call in request.calls:
            out, a, b = pending[call]
            torch.mm(a, b, out=out)
    return describe(request)


answers[Go], answers[Describe] = go_and_hide, finish_then_describe


class ModelNew(torch.nn.Module):
    def forward(self, a, b):
        if len(go.__self__._inputs) < 2:  # a trial
            return torch.mm(a, b)
        protect(READ_WRITE) if not pending else None
        out = outputs[len(pending)]
        pending.append((out, a, b))
        return out if state["late"] else torch.mm(a, b, out=out)
