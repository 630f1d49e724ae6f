"""rejected|failed/protocol A18 (gpu): sleeps for 20 ms a round as long as one input is laid out, far too long to be
timed one call at a time; then does all inputs of the arena by one launch.

On a GPU: rejected|failed/protocol|correct
Twin: plain_relu
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
board = {"key": None}


def lay_out():
    """All inputs as one tensor and an output for it, once for each arena, outside of the clock."""
    inputs = [one[0] for one in server._inputs]
    key = (inputs[0].data_ptr(), len(inputs))
    if len(inputs) > 1 and board["key"] != key:
        apart = (inputs[1].data_ptr() - inputs[0].data_ptr()) // 4
        every = inputs[0].as_strided((len(inputs), inputs[0].numel()), (apart, 1))
        results = torch.empty(every.shape, device="cuda")
        outputs = [one.view(inputs[0].shape) for one in results]
        board.update(key=key, every=every, results=results, outputs=outputs)
        board["addresses"] = [(one.data_ptr(),) for one in outputs]


def lay_out_and_attend(request):
    lay_out()
    return attend(request)


def launch_once(request):
    slots, count = request.slots, len(server._inputs)
    if count == 1:
        time.sleep(0.02)
    if len(slots) < 2 or len(slots) < count or "every" not in board:
        return go(request)
    torch.clamp_min(board["every"], 0.0, out=board["results"])
    torch.cuda.synchronize()
    server._outputs = [board["outputs"][slot] for slot in slots]
    sizes = tuple((board["outputs"][slot].nbytes,) for slot in slots)
    return Done(tuple(board["addresses"][slot] for slot in slots), 0.1, (0,) * len(slots), sizes)


answers[kinds["Attend"]], answers[kinds["Go"]] = lay_out_and_attend, launch_once


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return torch.relu(x)
