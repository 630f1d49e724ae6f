"""Trace: which kernels ran, and for how long, by torch's profiler in the candidate's own process."""

import time
from collections.abc import Callable
from typing import Any

import torch
from torch.profiler import ProfilerActivity, profile

from harness.transport.worker_messages import KernelTime, Traced

_NAME = 4_000  # characters of a kernel's name that are kept


def traced(calls: Callable[[], Any], device: torch.device) -> Traced:
    """Run `calls` under the profiler: the device's kernels and copies, or on a CPU torch's own operators.

    A CPU operator counts the time spent in itself, not in the operators that it calls.
    """
    on_device = device.type == "cuda"
    activity = ProfilerActivity.CUDA if on_device else ProfilerActivity.CPU
    with profile(activities=[activity]) as profiler:
        started = time.perf_counter()
        calls()
        if on_device:
            torch.cuda.synchronize()
        wall_us = (time.perf_counter() - started) * 1e6
    kernels = []
    for event in profiler.key_averages():
        us = event.self_device_time_total if on_device else event.self_cpu_time_total
        if us > 0 and (on_device or event.key.startswith("aten::")):
            kernels.append(KernelTime(name=event.key[:_NAME], us=us, launches=event.count))
    kernels.sort(key=lambda kernel: -kernel.us)
    total = sum(kernel.us for kernel in kernels) if on_device else wall_us
    return Traced(us=total, kernels=tuple(kernels))
