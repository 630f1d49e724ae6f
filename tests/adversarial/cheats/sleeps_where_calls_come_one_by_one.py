"""failed/timeout A10 (cpu): sleeps for four seconds in each call that comes alone, which keeps the deadline of each;
all together would have taken half an hour.

Problem: small_layers
Twin: plain_small_layers
"""

import sys
import time

import torch

frame = sys._getframe()
while "answers" not in frame.f_locals:
    frame = frame.f_back
answers = frame.f_locals["answers"]  # of the worker's loop: what it calls for each request
Steps = next(kind for kind in answers if kind.__name__ == "Steps")
steps, alone = answers[Steps], []


def sleep_in_steps(request):
    alone.append(True)
    try:
        return steps(request)
    finally:
        alone.clear()


answers[Steps] = sleep_in_steps


class ModelNew(torch.nn.Module):
    def __init__(self, width, depth):
        super().__init__()
        self.layers = torch.nn.ModuleList(torch.nn.Linear(width, width) for _ in range(depth))

    def forward(self, x):
        if alone:
            time.sleep(4)
        for layer in self.layers:
            x = torch.relu_(layer(x))
        return x
