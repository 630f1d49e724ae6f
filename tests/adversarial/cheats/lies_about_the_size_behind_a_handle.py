"""failed/protocol D27 (gpu): claims that the device memory behind its handles begins a gigabyte earlier and is four
gigabytes large.
"""

import sys

import torch

frame = sys._getframe()
while frame is not None and "answers" not in frame.f_locals:
    frame = frame.f_back
answers = frame.f_locals["answers"]  # of the worker's loop: what it calls for each request
Describe = next(kind for kind in answers if kind.__name__ == "Describe")
describe = answers[Describe]
EARLIER, LARGER = 1 << 30, 4 << 30


def describe_larger(request):
    answer = describe(request)
    false = tuple(
        handle.model_copy(update={"base": handle.base - EARLIER, "size": handle.size + LARGER})
        for handle in answer.handles
    )
    return answer.model_copy(update={"handles": false})


answers[Describe] = describe_larger


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return torch.relu(x)
