"""Roofline: how near a time comes to what the device can do, and times that no device can reach.

Source of the model: Williams, Waterman and Patterson, "Roofline: an insightful visual performance model" (CACM 52,
2009). The device's rates are measured, not looked up: memory by copying and by filling, arithmetic by a matrix
product, for float32 with tf32 allowed, because that is the fastest way there is to compute what was asked.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass

import torch

from harness.judge.problem import DTYPES
from harness.schema.audit import Audit
from harness.schema.problem import Precision
from harness.schema.record import Roofline, Timing

_COPY_BYTES = {"cuda": 1 << 30, "cpu": 1 << 26}
_MATRIX = {"cuda": 8192, "cpu": 1024}
_REPEATS = 10


@dataclass(frozen=True)
class Rates:
    """What a device can do: bytes per second read and written by a copy, bytes per second written by a fill, or at
    most by its memory where that is known; floating-point operations per second of a matrix product. `cache_bytes`
    is its last cache.
    """

    copy: float
    fill: float
    flops: float
    cache_bytes: int


def measure_rates(device: torch.device, precision: Precision, *, cache_bytes: int) -> Rates:
    """Measure a device's rates; on a GPU this takes some 30 ms. Nothing else should run there."""
    copy, fill = _memory_rates(device)
    return Rates(copy=copy, fill=fill, flops=_matrix_rate(device, precision), cache_bytes=cache_bytes)


def _memory_rates(device: torch.device) -> tuple[float, float]:
    size = _COPY_BYTES[device.type]
    source = torch.empty(size, dtype=torch.uint8, device=device)
    target = torch.empty_like(source)
    return 2 * size / _seconds_of(lambda: target.copy_(source), device), size / _seconds_of(
        lambda: target.fill_(1), device
    )


def _matrix_rate(device: torch.device, precision: Precision) -> float:
    n = _MATRIX[device.type]
    left, right = (torch.randn(n, n, device=device, dtype=DTYPES[precision]) for _ in range(2))
    allowed = torch.backends.cuda.matmul.allow_tf32
    torch.backends.cuda.matmul.allow_tf32 = True
    try:
        return 2 * n**3 / _seconds_of(lambda: left @ right, device)
    finally:
        torch.backends.cuda.matmul.allow_tf32 = allowed


def roofline(problem: Audit, rates: Rates, timing: Timing) -> Roofline:
    """The floor of one call, and the fraction of it that the candidate reached.

    Inputs count as read once and outputs as written once. Weights count only where they outgrow the last cache: they
    are the same in every call and may stay there.
    """
    weights = problem.weight_bytes if problem.weight_bytes > rates.cache_bytes else 0
    read, written = problem.input_bytes + weights, problem.output_bytes
    floor_s = max((read + written) / rates.copy, problem.flops / rates.flops)
    return Roofline(
        bytes_read=read,
        bytes_written=written,
        flops=problem.flops,
        bandwidth_gb_s=rates.copy / 1e9,
        matrix_tflops=rates.flops / 1e12,
        floor_ms=floor_s * 1e3,
        write_floor_ms=_write_floor_s(problem, rates, timing) * 1e3,
        fraction=floor_s * 1e3 / timing.candidate_ms,
    )


def _write_floor_s(problem: Audit, rates: Rates, timing: Timing) -> float:
    """Seconds that writing the outputs of one call takes at least.

    What fits into the last cache need not have reached memory when the clock stops: that much of a round is free.
    """
    round_bytes = problem.output_bytes * timing.calls_per_round
    return max(0.0, round_bytes - 2 * rates.cache_bytes) / rates.fill / timing.calls_per_round


def _seconds_of(work: Callable[[], object], device: torch.device) -> float:
    """The shortest of some repeats of `work`, in seconds, after one call to warm up: what the device can do."""
    seconds = []
    for _ in range(_REPEATS + 1):
        if device.type == "cuda":
            torch.cuda.synchronize()
        started = time.monotonic()
        work()
        if device.type == "cuda":
            torch.cuda.synchronize()
        seconds.append(time.monotonic() - started)
    return min(seconds[1:])
