"""failed/protocol A6: tells the judge that its device events took no number of milliseconds."""

import dataclasses
import sys

import torch

frame = sys._getframe()
while "answers" not in frame.f_locals:
    frame = frame.f_back
answers = frame.f_locals["answers"]  # of the worker's loop: what it calls for each request
Go = next(kind for kind in answers if kind.__name__ == "Go")
go = answers[Go]
answers[Go] = lambda request: dataclasses.replace(go(request), device_ms=-1.0)


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return torch.relu(x)
