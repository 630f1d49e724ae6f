"""Rates: what a device can do, measured and not looked up.

Memory by copying and by filling, arithmetic by a matrix product, for float32 with tf32 allowed, because that is the
fastest way there is to compute what was asked.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass

import torch

from harness.schema.problem import Precision

DTYPES = {"fp32": torch.float32, "fp16": torch.float16, "bf16": torch.bfloat16}
_COPY_BYTES, _HOST_COPY_BYTES = 1 << 30, 1 << 26
_MATRIX, _HOST_MATRIX = 8192, 1024
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


def measure_rates(device: torch.device, precision: Precision, *, cache_bytes: int, memory_peak: float = 0.0) -> Rates:
    """Measure a device's rates; on a GPU this takes some 30 ms. Nothing else should run there.

    `memory_peak` is the bytes per second that its memory can move at most, where that is known.
    """
    copy, fill = _memory_rates(device)
    return Rates(copy=copy, fill=max(fill, memory_peak), flops=_matrix_rate(device, precision), cache_bytes=cache_bytes)


def _memory_rates(device: torch.device) -> tuple[float, float]:
    size = _HOST_COPY_BYTES if device.type == "cpu" else _COPY_BYTES
    source = torch.empty(size, dtype=torch.uint8, device=device)
    target = torch.empty_like(source)
    return 2 * size / _seconds_of(lambda: target.copy_(source), device), size / _seconds_of(
        lambda: target.fill_(1), device
    )


def _matrix_rate(device: torch.device, precision: Precision) -> float:
    n = _HOST_MATRIX if device.type == "cpu" else _MATRIX
    left, right = (torch.randn(n, n, device=device, dtype=DTYPES[precision]) for _ in range(2))
    allowed = torch.backends.cuda.matmul.allow_tf32
    torch.backends.cuda.matmul.allow_tf32 = True
    try:
        return 2 * n**3 / _seconds_of(lambda: left @ right, device)
    finally:
        torch.backends.cuda.matmul.allow_tf32 = allowed


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
