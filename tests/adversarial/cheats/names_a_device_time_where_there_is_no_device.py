"""correct A6 (cpu): says with *done* that the device took a millionth of a millisecond, on a machine that has none.

Twin: plain_relu
"""

import dataclasses
import sys

import torch

frame = sys._getframe()
while "answers" not in frame.f_locals:
    frame = frame.f_back
answers = frame.f_locals["answers"]  # of the worker's loop: what it calls for each request
Go = next(kind for kind in answers if kind.__name__ == "Go")
go = answers[Go]
answers[Go] = lambda request: dataclasses.replace(go(request), device_ms=1e-6)


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return torch.relu(x)
