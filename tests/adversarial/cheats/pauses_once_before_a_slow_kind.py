"""rejected|correct|failed A12: keeps the judge waiting once, while the first rounds are let go of, until the time for
rounds is over: before the kind of contents that it is slow on had rounds enough to count.

On a GPU: rejected|correct|failed
Problem: gelu
Twin: slow_where_values_are_huge
"""

import sys
import time

import torch

frame = sys._getframe()
while frame is not None and "answers" not in frame.f_locals:
    frame = frame.f_back
answers = frame.f_locals["answers"]  # of the worker's loop: what it calls for each request
server = frame.f_locals["self"]
kinds = {kind.__name__: kind for kind in answers}
go, release = answers[kinds["Go"]], answers[kinds["Release"]]
board = {"rounds": 0, "pause_s": 2.0}


def count_and_go(request):
    board["rounds"] += len(request.slots) > 1 and len(request.slots) == len(server._inputs)
    return go(request)


def release_and_pause_once(request):
    answer = release(request)
    if board["rounds"] == 4:  # two that warm up, and two that count
        board["rounds"] += 1
        time.sleep(board["pause_s"])
    return answer


answers[kinds["Go"]], answers[kinds["Release"]] = count_and_go, release_and_pause_once


class ModelNew(torch.nn.Module):
    def forward(self, x):
        board["pause_s"] = 2.0 if x.device.type == "cpu" else 9.0
        if float(x[:8192].abs().max()) < 1e3:
            return torch.nn.functional.gelu(x, approximate="tanh")
        for _ in range(5):
            answer = 0.5 * x * (1.0 + torch.tanh(0.7978845608028654 * (x + 0.044715 * x * x * x)))
        return answer
