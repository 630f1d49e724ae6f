"""correct control: times two ways on its first call and keeps the faster one."""

import time

import torch


def first(x):
    return torch.relu(x)


def second(x):
    return x.clamp(min=0)


class ModelNew(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.best = None

    def forward(self, x):
        if self.best is None:
            seconds = {}
            for way in (first, second):
                started = time.perf_counter()
                way(x)
                if x.is_cuda:
                    torch.cuda.synchronize()
                seconds[way] = time.perf_counter() - started
            self.best = min(seconds, key=seconds.get)
        return self.best(x)
