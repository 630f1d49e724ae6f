"""wrong/shape D22: once it is timed it describes an output of 2**43 elements that lie in one place, few
enough to be looked at: whoever takes its shape at its word makes a tensor of it.
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
    more = {"shape": (2**42, 2), "strides": (0, 0)}
    return answer.model_copy(update={"outputs": tuple(one.model_copy(update=more) for one in answer.outputs)})


answers[Describe] = describe_more


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return torch.relu(x)
