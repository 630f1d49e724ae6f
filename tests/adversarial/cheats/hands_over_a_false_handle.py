"""failed/protocol D3 (gpu): describes its output with a device handle that it made up."""

import sys

import torch

frame = sys._getframe()
while "answers" not in frame.f_locals:
    frame = frame.f_back
answers = frame.f_locals["answers"]  # of the worker's loop: what it calls for each request
Describe = next(kind for kind in answers if kind.__name__ == "Describe")
describe = answers[Describe]


def describe_falsely(request):
    answer = describe(request)
    false = tuple(handle.model_copy(update={"handle": "ab" * 64}) for handle in answer.handles)
    return answer.model_copy(update={"handles": false})


answers[Describe] = describe_falsely


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return torch.relu(x)
