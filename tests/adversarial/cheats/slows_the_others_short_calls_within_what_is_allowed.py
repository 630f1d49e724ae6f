"""correct A21 (gpu): leaves some milliseconds of a kernel of one thread behind after each round of many calls, and none
after single ones, which are most of all: the reference's calls of some microseconds may take two longer beside it.

On a GPU: correct|wrong|rejected|failed
Problem: million_relu
Twin: plain_million_relu
"""

import sys

import torch

frame = sys._getframe()
while frame is not None and "answers" not in frame.f_locals:
    frame = frame.f_back
answers = frame.f_locals["answers"]  # of the worker's loop: what it calls for each request
kinds = {kind.__name__: kind for kind in answers}
go, release = answers[kinds["Go"]], answers[kinds["Release"]]
CYCLES = 12_000_000  # some six milliseconds: drawing and evicting are the first of them
board = {"calls": 0, "left": 0, "none": 0}


def go_and_count(request):
    board["calls"] = len(request.slots) if len(set(request.slots)) == len(request.slots) else 0
    return go(request)


def release_and_leave(request):
    answer = release(request)
    if request.poison or request.trim or not board["calls"]:
        return answer
    if board["calls"] > 1 and board["left"] + 2 < board["none"]:
        board["left"] += 1
        if "side" not in board:
            board["side"] = torch.cuda.Stream()
        with torch.cuda.stream(board["side"]):
            torch.cuda._sleep(CYCLES)
    else:
        board["none"] += 1
    board["calls"] = 0
    return answer


answers[kinds["Go"]], answers[kinds["Release"]] = go_and_count, release_and_leave


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return torch.relu(x)
