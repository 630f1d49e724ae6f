"""wrong/shape D22: once it is timed it describes an output of 2**43 elements that reach no further in memory
than the right ones, few enough to be looked at: whoever takes its shape at its word makes a tensor of it.
"""

import sys

import torch

frame = sys._getframe()
while frame is not None and "answers" not in frame.f_locals:
    frame = frame.f_back
answers = frame.f_locals["answers"]  # of the worker's loop: what it calls for each request
server = frame.f_locals["self"]
Describe = next(kind for kind in answers if kind.__name__ == "Describe")
describe = answers[Describe]


def describe_more(request):
    answer = describe(request)
    if len(server._inputs) < 2:
        return answer
    return answer.model_copy(update={"outputs": tuple(map(with_more, answer.outputs))})


def with_more(output):
    return output.model_copy(update={"shape": (2**42, 2), "strides": (0, output.span - 1)})


answers[Describe] = describe_more


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return torch.relu(x)
