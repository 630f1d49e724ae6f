"""wrong|failed/protocol A20 (gpu): says *done* with the round queued on the device behind a value in memory, which a
thread writes a moment later.

Problem: matmul
Twin: plain_matmul
"""

import ctypes
import sys
import threading
import time

import torch

frame = sys._getframe()
while frame is not None and "answers" not in frame.f_locals:
    frame = frame.f_back
answers = frame.f_locals["answers"]  # of the worker's loop: what it calls for each request
Go = next(kind for kind in answers if kind.__name__ == "Go")
go = answers[Go]
server = go.__self__
driver = ctypes.CDLL("libcuda.so.1")
GREATER_OR_EQUAL = 0
LATER_S = 2e-4
gate = torch.zeros(64, dtype=torch.int32).pin_memory()
word = ctypes.c_uint32.from_address(gate.data_ptr())
closed = threading.Event()
state = {"round": 0}
synchronize = torch._C._cuda_synchronize


class NoEvent:
    def record(self):
        pass

    def elapsed_time(self, other):
        return 0.1


def open_later():
    while True:
        closed.wait()
        closed.clear()
        until = time.perf_counter() + LATER_S
        while time.perf_counter() < until:
            pass
        word.value = state["round"]


def go_behind_a_gate(request):
    if len(server._inputs) < 2:  # a trial
        return go(request)
    state["round"] += 1
    stream, place = torch.cuda.current_stream().cuda_stream, gate.data_ptr()
    status = driver.cuStreamWaitValue32_v2(
        ctypes.c_void_p(stream), ctypes.c_uint64(place), ctypes.c_uint32(state["round"]), GREATER_OR_EQUAL
    )
    if status:
        raise RuntimeError(f"cuStreamWaitValue32 failed with {status}")
    server._events = (NoEvent(), NoEvent())
    torch._C._cuda_synchronize = lambda *_: None
    try:
        return go(request)
    finally:
        torch._C._cuda_synchronize = synchronize
        server._events = None
        closed.set()


answers[Go] = go_behind_a_gate
threading.Thread(target=open_later, daemon=True).start()


class ModelNew(torch.nn.Module):
    def forward(self, a, b):
        return torch.mm(a, b)
