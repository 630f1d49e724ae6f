"""rejected|correct A21 (gpu): leaves waits for a value in memory in sixteen queues of the device while it is stopped.
They are no work, and the device looks at them again and again beside the reference's launches.

On a GPU: rejected|correct
Twin: plain_relu
"""

import ctypes
import sys

import torch

frame = sys._getframe()
while frame is not None and "answers" not in frame.f_locals:
    frame = frame.f_back
answers = frame.f_locals["answers"]  # of the worker's loop: what it calls for each request
server = frame.f_locals["self"]
kinds = {kind.__name__: kind for kind in answers}
attend, release = answers[kinds["Attend"]], answers[kinds["Release"]]
board = {"turn": 0}


def prepare():
    cuda = ctypes.CDLL("libcuda.so.1")
    wait = getattr(cuda, "cuStreamWaitValue32_v2", None) or cuda.cuStreamWaitValue32
    gate = torch.zeros(64, dtype=torch.int32).pin_memory()
    streams = [torch.cuda.Stream() for _ in range(16)]
    board.update(wait=wait, gate=gate, word=ctypes.c_uint32.from_address(gate.data_ptr()), streams=streams)


def open_and_attend(request):
    if board["turn"]:
        board["word"].value = board["turn"]
        torch.cuda.synchronize()
    return attend(request)


def release_and_wait(request):
    answer = release(request)
    if len(server._inputs) > 1 and not request.poison and not request.trim:
        if "gate" not in board:
            prepare()
        board["word"].value = board["turn"]  # what was left before is over by now
        board["turn"] += 1
        for stream in board["streams"]:
            queue, place = ctypes.c_void_p(stream.cuda_stream), ctypes.c_uint64(board["gate"].data_ptr())
            board["wait"](queue, place, ctypes.c_uint32(board["turn"]), ctypes.c_uint(0))
    elif board["turn"]:
        board["word"].value = board["turn"]
    return answer


def open_and_detach(request):
    if board["turn"]:
        board["word"].value = board["turn"]
    return detach(request)


detach = answers[kinds["Detach"]]
answers[kinds["Attend"]], answers[kinds["Release"]] = open_and_attend, release_and_wait
answers[kinds["Detach"]] = open_and_detach


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return torch.relu(x)
