"""Copy engines of a GPU: they read and write its memory beside the kernels of any process.

A kernel of the judge's has to wait until the device switches to its context, 0.14 ms on an H200; a copy to or from the
host's memory has not, and takes some 9 us with its start (H200, driver 580.159, November 2026). One within the device
is a kernel, as a rule: it waits.
"""

import ctypes
from typing import Any

import torch

from harness.errors import DeviceError

_NOT_READY = 600  # CUDA_ERROR_NOT_READY of cuda.h
_HOST, _DEVICE = 1, 2  # CU_MEMORYTYPE_HOST, CU_MEMORYTYPE_DEVICE
_LEAST_BYTES = 1 << 15
"""Less in one piece goes to the device among its commands, which wait for the switch: 0.15 ms beside another process'
kernels, in two rows 12 us, as 32 KiB take (H200, November 2026)."""


class _Copy2D(ctypes.Structure):
    """CUDA_MEMCPY2D of cuda.h."""

    _fields_ = (
        ("src_x_bytes", ctypes.c_size_t),
        ("src_y", ctypes.c_size_t),
        ("src_type", ctypes.c_int),
        ("src_host", ctypes.c_void_p),
        ("src_device", ctypes.c_uint64),
        ("src_array", ctypes.c_void_p),
        ("src_pitch", ctypes.c_size_t),
        ("dst_x_bytes", ctypes.c_size_t),
        ("dst_y", ctypes.c_size_t),
        ("dst_type", ctypes.c_int),
        ("dst_host", ctypes.c_void_p),
        ("dst_device", ctypes.c_uint64),
        ("dst_array", ctypes.c_void_p),
        ("dst_pitch", ctypes.c_size_t),
        ("width_bytes", ctypes.c_size_t),
        ("height", ctypes.c_size_t),
    )


class CudaCopies:
    """Those of the GPU that this process sees, by the driver. Implements `backends.hardware.CopyEngines`.

    Methods raise DeviceError where the driver refuses. They are called while a clock runs: each takes a few steps.
    """

    def __init__(self) -> None:
        self._owner = torch.cuda.Stream()  # owns the handle
        self._stream = ctypes.c_void_p(self._owner.cuda_stream)
        lib = ctypes.CDLL("libcuda.so.1")
        self._to_device, self._to_host, self._strips, self._query = (
            lib.cuMemcpyHtoDAsync_v2,
            lib.cuMemcpyDtoHAsync_v2,
            lib.cuMemcpy2DAsync_v2,
            lib.cuStreamQuery,
        )
        self._to_device.argtypes = [ctypes.c_uint64, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_void_p]
        self._to_host.argtypes = [ctypes.c_void_p, ctypes.c_uint64, ctypes.c_size_t, ctypes.c_void_p]
        self._strips.argtypes = [ctypes.POINTER(_Copy2D), ctypes.c_void_p]
        self._query.argtypes = [ctypes.c_void_p]
        self._copy = _Copy2D(src_type=_DEVICE, dst_type=_HOST)
        self._halves = _Copy2D(src_type=_HOST, dst_type=_DEVICE, height=2)

    def room(self, size: int) -> torch.Tensor:
        return torch.empty(size, dtype=torch.uint8, pin_memory=True)

    def queue_write(self, host: int, device: int, size: int) -> None:
        if size >= _LEAST_BYTES or size % 2:
            _require(self._to_device(device, host, size, self._stream))
            return
        halves, half = self._halves, size // 2
        halves.src_host, halves.dst_device = host, device
        halves.src_pitch = halves.dst_pitch = halves.width_bytes = half
        _require(self._strips(halves, self._stream))

    def queue_read(self, device: int, host: int, *, width: int, pitch: int, height: int) -> None:
        if height == 1:
            _require(self._to_host(host, device, width, self._stream))
            return
        copy = self._copy
        copy.src_device, copy.src_pitch = device, pitch
        copy.dst_host, copy.dst_pitch = host, width
        copy.width_bytes, copy.height = width, height
        _require(self._strips(copy, self._stream))

    def wait(self) -> None:
        query, stream = self._query, self._stream
        while (status := query(stream)) == _NOT_READY:
            pass
        _require(status)


def _require(status: Any) -> None:
    if status:
        raise DeviceError(f"a copy between the host and the device failed: the driver says {status}")
