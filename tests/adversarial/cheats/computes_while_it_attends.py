"""wrong A19 (gpu): computes the answers of all inputs while it says that it attends, before the clock starts.

Problem: matmul
Twin: plain_matmul
"""

import sys

import torch

frame = sys._getframe()
while frame is not None and "answers" not in frame.f_locals:
    frame = frame.f_back
answers = frame.f_locals["answers"]  # of the worker's loop: what it calls for each request
Attend = next(kind for kind in answers if kind.__name__ == "Attend")
attend = answers[Attend]
computed = {}


def compute_then_attend(request):
    computed.clear()
    with torch.no_grad():
        for a, b in attend.__self__._inputs:
            computed[a.data_ptr()] = torch.mm(a, b)
    torch.cuda.synchronize()
    return attend(request)


answers[Attend] = compute_then_attend


class ModelNew(torch.nn.Module):
    def forward(self, a, b):
        found = computed.get(a.data_ptr())
        return torch.mm(a, b) if found is None else found
