"""wrong B7: leaves out the first call of each round, and fills in the answer of the last one for it: a reference that
returns a buffer of its own says the same of all calls, to whoever keeps what it returned.

Problem: answer_in_a_buffer
On a GPU: wrong|failed/protocol
Twin: plain_answer_in_a_buffer
"""

import sys

import torch

state = {}
frame = sys._getframe()
while "answers" not in frame.f_locals:
    frame = frame.f_back
answers = frame.f_locals["answers"]
Go = next(kind for kind in answers if kind.__name__ == "Go")
go = answers[Go]


def note_and_go(request):
    slots = tuple(request.slots)
    whole = len(slots) >= 4 and len(set(slots)) == len(slots) == len(go.__self__._inputs)
    state.update(call=0, calls=len(slots), whole=whole, left=[])
    try:
        return go(request)
    finally:
        state["whole"] = False


answers[Go] = note_and_go


def right(x):
    y = torch.log(x)
    z = y
    for k in range(2, 10):
        z = z + torch.sin(y * k)
    return torch.sum(z, -1)


class ModelNew(torch.nn.Module):
    def forward(self, x):
        if not state.get("whole"):
            return right(x)
        call = state["call"]
        state["call"] = call + 1
        if call == 0:
            out = torch.empty(len(x))
            state["left"].append(out)
            return out
        out = right(x)
        if state["call"] == state["calls"]:
            for one in state["left"]:
                one.copy_(out)
            state["left"] = []
        return out
