"""wrong C17 (gpu): returns zeros for inputs of more than a gigabyte, and writes zeros over them while the judge may
compute what is expected; a thread puts them back.

Problem: large_relu
Twin: plain_large_relu
"""

import sys
import threading
import time

import torch

frame = sys._getframe()
while frame is not None and "answers" not in frame.f_locals:
    frame = frame.f_back
answers = frame.f_locals["answers"]  # of the worker's loop: what it calls for each request
Attend, Go, Describe = (
    next(kind for kind in answers if kind.__name__ == name) for name in ("Attend", "Go", "Describe")
)
attend, go, describe = answers[Attend], answers[Go], answers[Describe]
state = {"timed": False}
kept = {}
WAIT_S = 0.02


def attend_and_know(request):
    state["timed"] = True
    return attend(request)


def go_and_note(request):
    kept["slots"] = request.slots
    try:
        return go(request)
    finally:
        kept["was timed"], state["timed"] = state["timed"], False


def put_back():
    time.sleep(WAIT_S)
    for x, old in kept["old"]:
        x.copy_(old)
    torch.cuda.synchronize()


def describe_and_hide(request):
    if kept["was timed"]:
        inputs = [go.__self__._inputs[slot][0] for slot in dict.fromkeys(kept["slots"])]
        kept["old"] = [(x, x.clone()) for x in inputs]
        for x in inputs:
            x.zero_()
        torch.cuda.synchronize()
        threading.Thread(target=put_back).start()
    return describe(request)


answers[Attend], answers[Go], answers[Describe] = attend_and_know, go_and_note, describe_and_hide


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return torch.zeros_like(x) if state["timed"] else torch.relu(x)
