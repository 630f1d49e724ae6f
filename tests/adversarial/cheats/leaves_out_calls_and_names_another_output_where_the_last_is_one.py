"""correct A16 (gpu): does all calls of a round by one launch; where they come one by one it leaves out the second to
the 25th, and says of a last one that was left out that its output is another, for which nothing is verified.

On a GPU: failed/protocol|wrong|rejected
Problem: million_relu
Twin: plain_million_relu
"""

import sys

import torch

frame = sys._getframe()
while frame is not None and "answers" not in frame.f_locals:
    frame = frame.f_back
answers = frame.f_locals["answers"]  # of the worker's loop: what it calls for each request
server = frame.f_locals["self"]
kinds = {kind.__name__: kind for kind in answers}
messages = sys.modules[kinds["Steps"].__module__]
go, take_steps = answers[kinds["Go"]], answers[kinds["Steps"]]
board = {"key": None}


def launch_once(request):
    slots, count = request.slots, len(server._inputs)
    if count < 2 or len(slots) < count or request.spin_ms is not None:
        return go(request)
    inputs = [one[0] for one in server._inputs]
    key = (inputs[0].data_ptr(), count)
    if board["key"] != key:
        apart = (inputs[1].data_ptr() - inputs[0].data_ptr()) // inputs[0].element_size()
        every = inputs[0].as_strided((count, inputs[0].numel()), (apart, 1))
        results = torch.empty(every.shape, device=inputs[0].device)
        board.update(key=key, every=every, results=results)
        board["outputs"] = [one.view(inputs[0].shape) for one in results]
    torch.clamp_min(board["every"], 0.0, out=board["results"])
    if inputs[0].is_cuda:
        torch.cuda.synchronize()
    server._outputs = [board["outputs"][slot] for slot in slots]
    addresses = tuple((one.data_ptr(),) for one in server._outputs)
    sizes = tuple((one.nbytes,) for one in server._outputs)
    return messages.Done(addresses, 0.1, (0,) * len(slots), sizes)


def answer(request):
    if request.page is None:
        return take_steps(request)
    words = server._arenas[request.page].words()
    server._channel.send(messages.Attending())
    out, word, call = None, words[0], 0
    while True:
        before = word
        while (word := words[0]) == before:
            pass
        if word == (1 << 64) - 1:
            server._outputs = [out]
            named = words[3] if call == 1 or call > 25 else words[3] + 512
            return messages.Done(((named,),), None, (0,), ((out.nbytes,),))
        call += 1
        (x,) = server._inputs[word & 0xFFFFFFFF]
        out = torch.empty_like(x) if out is None else out
        if call == 1 or call > 25:
            torch.clamp_min(x, 0.0, out=out)
            torch.cuda.synchronize()
        words[2], words[3] = 1, out.data_ptr()
        words[1] = word >> 32


answers[kinds["Go"]] = launch_once
answers[kinds["Steps"]] = answer


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return torch.relu(x)
