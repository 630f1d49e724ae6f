"""wrong A10 (cpu): has the rows of all calls of a round go through the layers as one batch, and where it is
shown one call alone says that it is done before it has computed anything.

Problem: small_layers
Twin: plain_small_layers
"""

import sys

import torch

ready, early = {}, {"rounds": 0, "said": False}
frame = sys._getframe()
while "answers" not in frame.f_locals:
    frame = frame.f_back
answers = frame.f_locals["answers"]  # of the worker's loop: what it calls for each request
Go = next(kind for kind in answers if kind.__name__ == "Go")
go = answers[Go]
server = go.__self__
Done = sys.modules[type(server).__module__].Done
send_text = server._channel.send_text


def send_unless_it_was_said(text, descriptors=(), **more):
    if not early["said"]:
        send_text(text, descriptors, **more)
    early["said"] = False


server._channel.send_text = send_unless_it_was_said


def go_at_once_or_early(request):
    ready.clear()
    if len(set(request.slots)) > 1:
        early["rounds"] += 1
        ready["inputs"] = [server._inputs[slot][0] for slot in request.slots]
        return go(request)
    if early["rounds"] < 9 or not request.slots:
        return go(request)
    (x,) = server._inputs[request.slots[0]]
    out = torch.empty_like(x)
    server._outputs = [out]
    done = Done(((out.data_ptr(),),), None, (0,), ((out.nbytes,),))
    send_text(done.packed())
    early["said"] = True
    with torch.no_grad():
        out.copy_(server._model.through(x))
    return done


answers[Go] = go_at_once_or_early


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
