"""rejected A18 (gpu): takes 0.3 ms a call until several inputs are laid out, so that it counts as too long to be
timed one call at a time; then does the work of a round in one call.

On a GPU: rejected|correct
Twin: plain_relu
"""

import sys
import time

import torch

frame = sys._getframe()
while frame is not None and "answers" not in frame.f_locals:
    frame = frame.f_back
answers = frame.f_locals["answers"]  # of the worker's loop: what it calls for each request
Go, Steps = (next(kind for kind in answers if kind.__name__ == name) for name in ("Go", "Steps"))
go, take_steps = answers[Go], answers[Steps]
ready = {}


def look_ahead_and_go(request):
    inputs = go.__self__._inputs
    ready.clear()
    if len(inputs) > 1:
        ready["inputs"] = [inputs[slot][0] for slot in request.slots]
    return go(request)


def take_one_after_the_other(request):
    ready.clear()
    ready["alone"] = True
    return take_steps(request)


answers[Go], answers[Steps] = look_ahead_and_go, take_one_after_the_other


class ModelNew(torch.nn.Module):
    def forward(self, x):
        if "inputs" in ready:
            ready["outputs"] = iter(torch._foreach_clamp_min(ready.pop("inputs"), 0.0))
        if "outputs" in ready:
            return next(ready["outputs"])
        if "alone" in ready:
            return torch.relu(x)
        until = time.perf_counter() + 3e-4
        while time.perf_counter() < until:
            pass
        return torch.relu(x)
