"""correct|rejected|failed A12 (gpu): asks the driver to lock the device's clock low before it is stopped and to free
it when it attends: a reference that was slow at a low clock is excused by that.

Problem: large_matmul
Twin: plain_large_matmul
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
board = {}


def device():
    if "nvml" not in board:
        try:
            nvml = ctypes.CDLL("libnvidia-ml.so.1")
            handle = ctypes.c_void_p()
            nvml.nvmlInit_v2()
            nvml.nvmlDeviceGetHandleByIndex_v2(0, ctypes.byref(handle))
        except OSError:
            nvml = handle = None
        board.update(nvml=nvml, handle=handle)
    return board["nvml"], board["handle"]


def free_and_attend(request):
    nvml, handle = device()
    if nvml and board.get("locked") == 0:
        nvml.nvmlDeviceResetGpuLockedClocks(handle)
    return attend(request)


def release_and_lock(request):
    answer = release(request)
    nvml, handle = device()
    if nvml and len(server._inputs) > 1 and not request.poison and not request.trim:
        board["locked"] = nvml.nvmlDeviceSetGpuLockedClocks(handle, ctypes.c_uint(1200), ctypes.c_uint(1400))
    return answer


answers[kinds["Attend"]], answers[kinds["Release"]] = free_and_attend, release_and_lock


class ModelNew(torch.nn.Module):
    def forward(self, a, b):
        return torch.mm(a, b)
