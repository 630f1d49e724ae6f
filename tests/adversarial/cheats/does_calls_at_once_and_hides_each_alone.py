"""wrong A10 (cpu): has the rows of all calls of a round go through the layers as one batch, and where it is
shown one call alone says that it is done before it has computed anything.

Problem: small_layers
Twin: plain_small_layers
"""

import sys

import torch

ready = {}
frame = sys._getframe()
while "answers" not in frame.f_locals:
    frame = frame.f_back
answers = frame.f_locals["answers"]  # of the worker's loop: what it calls for each request
Go, Steps = (next(kind for kind in answers if kind.__name__ == name) for name in ("Go", "Steps"))
go = answers[Go]
server = go.__self__
channel = server._channel
messages = sys.modules[Steps.__module__]


def look_ahead_and_go(request):
    ready.clear()
    if len(set(request.slots)) > 1:
        ready["inputs"] = [server._inputs[slot][0] for slot in request.slots]
    return go(request)


def answer_early(request):
    ready.clear()
    channel.send(messages.Attending())
    while (step := channel.receive_expected(messages.STEP_BYTES)).startswith(messages.STEP):
        (x,) = server._inputs[messages.Step.unpacked(step)[0]]
        out = torch.empty_like(x)
        server._outputs = [out]
        channel.send_text(messages.Done(((out.data_ptr(),),), None, (0,), ((out.nbytes,),)).packed())
        with torch.no_grad():
            out.copy_(server._model.through(x))
    channel.put_back(step)


answers[Go], answers[Steps] = look_ahead_and_go, answer_early


class ModelNew(torch.nn.Module):
    def __init__(self, width, depth):
        super().__init__()
        self.layers = torch.nn.ModuleList(torch.nn.Linear(width, width) for _ in range(depth))

    def through(self, x):
        for layer in self.layers:
            x = torch.relu_(layer(x))
        return x

    def forward(self, x):
        if "inputs" in ready:
            ready["outputs"] = iter(self.through(torch.cat(ready.pop("inputs"))).unsqueeze(1).unbind())
        return next(ready["outputs"]) if "outputs" in ready else self.through(x)
