"""wrong|correct|failed/protocol A20 (gpu): says *done* while three calls, a tenth of a millisecond, are still queued;
it sleeps until it is timed, so that a round may be shorter than its slice of the device.

On a GPU: wrong|rejected|failed/protocol|correct
Problem: wide_gelu
Twin: plain_wide_gelu
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
Done = sys.modules[type(server).__module__].Done
attend, go = answers[kinds["Attend"]], answers[kinds["Go"]]
LEFT = 3
board = {"key": None}


def lay_out():
    """An output for every slot, once for each arena, outside of the clock."""
    inputs = [one[0] for one in server._inputs]
    key = (inputs[0].data_ptr(), len(inputs))
    if board["key"] != key:
        board.update(key=key, inputs=inputs, outputs=[torch.empty_like(one) for one in inputs])
        board["addresses"] = [(one.data_ptr(),) for one in board["outputs"]]


def finished(slots):
    server._outputs = [board["outputs"][slot] for slot in slots]
    sizes = tuple((board["outputs"][slot].nbytes,) for slot in slots)
    return Done(tuple(board["addresses"][slot] for slot in slots), 0.1, (0,) * len(slots), sizes)


def work(slot):
    torch.ops.aten.gelu.out(board["inputs"][slot], approximate="tanh", out=board["outputs"][slot])


def lay_out_and_attend(request):
    lay_out()
    return attend(request)


def go_and_wait_for_most(request):
    slots, count = request.slots, len(server._inputs)
    if count == 1:
        time.sleep(0.02)
    if len(slots) <= LEFT + 1 or len(slots) < count:
        return go(request)
    almost = torch.cuda.Event()
    for call, slot in enumerate(slots):
        work(slot)
        if call == len(slots) - 1 - LEFT:
            almost.record()
    almost.synchronize()
    return finished(slots)


answers[kinds["Attend"]], answers[kinds["Go"]] = lay_out_and_attend, go_and_wait_for_most


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return torch.nn.functional.gelu(x, approximate="tanh")
