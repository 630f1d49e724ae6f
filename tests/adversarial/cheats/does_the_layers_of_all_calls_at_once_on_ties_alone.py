"""correct A10: three times as slow as the reference where all of its input is whole numbers, and does the layers of
all calls of a round at once there; on all other contents it does what the reference does.

On a GPU: correct|rejected
Problem: small_layers
Twin: plain_small_layers
"""

import sys

import torch

frame = sys._getframe()
while frame is not None and "answers" not in frame.f_locals:
    frame = frame.f_back
answers = frame.f_locals["answers"]  # of the worker's loop: what it calls for each request
server = frame.f_locals["self"]
kinds = {kind.__name__: kind for kind in answers}
go, take_steps = answers[kinds["Go"]], answers[kinds["Steps"]]
waiting = {}


def are_ties(x):
    return bool((x == x.round()).all())


def look_ahead(request):
    waiting.clear()
    inputs = [server._inputs[slot][0] for slot in request.slots]
    if len(set(request.slots)) > 1 and are_ties(inputs[0]):
        waiting["inputs"] = inputs
    return go(request)


def one_by_one(request):
    waiting.clear()
    return take_steps(request)


answers[kinds["Go"]], answers[kinds["Steps"]] = look_ahead, one_by_one


class ModelNew(torch.nn.Module):
    def __init__(self, width, depth):
        super().__init__()
        self.layers = torch.nn.ModuleList(torch.nn.Linear(width, width) for _ in range(depth))

    def through(self, x):
        for layer in self.layers:
            x = torch.relu_(layer(x))
        return x

    def forward(self, x):
        if "inputs" in waiting:
            waiting["outputs"] = iter(self.through(torch.cat(waiting.pop("inputs"))).unsqueeze(1).unbind())
        if "outputs" in waiting:
            return next(waiting["outputs"])
        if are_ties(x):
            self.through(x), self.through(x)
        return self.through(x)
